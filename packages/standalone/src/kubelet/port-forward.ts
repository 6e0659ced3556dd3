import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { badRequest, type Pod, Pods, withTimeLimit } from "@mooring/store";
import { notHere, type Place } from "./exec.ts";

/** A port of a pod that a client wants to reach. */
export interface ForwardRequest {
  namespace: string;
  pod: string;
  port: number;
}

const CONNECT_MS = 10_000;

/**
 * Connects to a port of a pod: one on which a program of the pod listens. All pods share the machine's network, and a
 * client that may reach one of them must not thereby reach what else listens there.
 */
export async function openPort(
  { store, runtime, nodeName }: Place,
  request: ForwardRequest,
): Promise<Socket> {
  const { namespace, pod: name, port } = request;
  const pod = await store.get<Pod>(Pods, { namespace, name });
  if (pod.spec?.nodeName !== nodeName) throw notHere(pod);
  const host = await runtime.listenerOf(pod.metadata.uid ?? "", port);
  if (host === undefined)
    throw badRequest(
      `no program of pod "${name}" listens on port ${port}; kubectl logs ${name} may show why`,
    );
  const socket = connect({ host, port, allowHalfOpen: true });
  socket.on("error", () => {});
  try {
    await once(socket, "connect", { signal: withTimeLimit(CONNECT_MS) });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return socket;
}
