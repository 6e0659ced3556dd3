// Makes a driver that does not register itself known to the kubelet, as a registrar beside it does.
import { type CsiServer, connect, serveRegistration } from "@mooring/csi";

const FOLDER = "/var/lib/kubelet/plugins_registry";

/** `socket`: the path of the driver's own. Returns the driver's name, which it has for itself, and the server, which serves until it is stopped. */
export async function register(socket: string): Promise<{ name: string; server: CsiServer }> {
  const client = await connect(`unix://${socket}`, { timeoutMs: 60_000 });
  const { name } = await client.identity.getPluginInfo({});
  client.close();
  const endpoint = `unix://${FOLDER}/${name}-reg.sock`;
  const server = serveRegistration({ endpoint, driver: name, driverSocket: socket });
  await server.start();
  return { name, server };
}
