import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type CsiServer, createServer, type Services, serveRegistration } from "@mooring/csi";
import { KeyedLock } from "@mooring/store";

/** A driver of another vendor that makes volumes for single pods, as empty folders, and registers itself. */
export interface RegisteringDriver {
  /** What the kubelet has notified it of, newest last: "" when it took the driver, else why not. */
  readonly statuses: string[];
  /** Calls of its node service so far, by name. */
  readonly calls: string[];
  /** Says from now on that this node is another. */
  move(nodeId: string): void;
  /** The socket by which it registers comes, or comes anew. */
  register(): Promise<void>;
  /** That socket goes; the driver itself stays. */
  leave(): Promise<void>;
  stop(): Promise<void>;
}

/** Its sockets are below `folder`, that of a kubelet. `socket`: file name of the one by which it registers. */
export async function startRegisteringDriver(
  folder: string,
  name: string,
  { socket = `${name}-reg.sock` }: { socket?: string } = {},
): Promise<RegisteringDriver> {
  const own = join(folder, "plugins", socket);
  await mkdir(own, { recursive: true });
  await mkdir(join(folder, "plugins_registry"), { recursive: true });
  const [calls, statuses]: [string[], string[]] = [[], []];
  let nodeId = `id-of-${name}`;
  const services: Services = {
    identity: {
      getPluginInfo: () => ({ name, vendorVersion: "1" }),
      getPluginCapabilities: () => ({}),
      probe: () => ({ ready: true }),
    },
    node: {
      nodeGetInfo: () => ({ nodeId }),
      nodeGetCapabilities: () => ({}),
      async nodePublishVolume({ targetPath }) {
        calls.push("NodePublishVolume");
        await mkdir(targetPath, { recursive: true });
        return {};
      },
      async nodeUnpublishVolume({ targetPath }) {
        calls.push("NodeUnpublishVolume");
        await rm(targetPath, { recursive: true, force: true });
        return {};
      },
    },
  };
  const driverSocket = join(own, "csi.sock");
  const server = createServer(services, { endpoint: `unix://${driverSocket}` });
  await server.start();
  let registration: CsiServer | undefined;
  /** Its registration comes and goes one after the other, whoever asks at once. */
  const turns = new KeyedLock();
  const inTurn = (work: () => Promise<void>) => turns.run(socket, work);
  const leave = async () => {
    await registration?.stop(0);
    registration = undefined;
  };
  const register = async () => {
    await leave();
    registration = serveRegistration({
      ...{ endpoint: `unix://${join(folder, "plugins_registry", socket)}`, driver: name, driverSocket },
      onStatus: (_, error) => statuses.push(error),
    });
    await registration.start();
  };
  const driver = {
    calls,
    statuses,
    move(to: string) {
      nodeId = to;
    },
    register: () => inTurn(register),
    leave: () => inTurn(leave),
    async stop() {
      await driver.leave();
      await server.stop(0);
    },
  };
  return driver;
}
