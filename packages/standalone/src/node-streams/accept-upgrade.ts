import type { IncomingMessage, ServerResponse } from "node:http";
import { StatusError } from "@mooring/store";
import type { Kubelet } from "../kubelet/index.ts";
import type { Upgrade } from "../streams/handshake.ts";
import { serveForwards } from "../streams/serve-forwards.ts";
import { serveSession } from "../streams/serve-session.ts";
import { acceptTransport, chooseTransport } from "../streams/transport.ts";
import { acceptTunnel, chooseTunnel } from "../streams/tunnel.ts";
import { EXEC_PATH, FORWARD_PATH, readExec, readForward } from "./query.ts";

/** A request that takes its connection over, with what does that. */
export interface UpgradeRequest {
  request: IncomingMessage;
  response: ServerResponse;
  upgrade: Upgrade;
  url: URL;
}

/** A stream into a pod of this node, which the API server has let a client open. Throws before it has sent any response. */
export async function acceptUpgrade(
  kubelet: Pick<Kubelet, "exec" | "forward">,
  { request, response, upgrade, url }: UpgradeRequest,
  stop: AbortSignal,
): Promise<void> {
  if (url.pathname === EXEC_PATH) {
    const { stdout, stderr, ...asked } = readExec(url.searchParams);
    const transport = chooseTransport(request, response);
    const wanted = { stdout, stderr, stdin: asked.stdin, tty: asked.tty };
    const connect = await acceptTransport(transport, { request, response, upgrade }, wanted);
    return serveSession(connect, { open: () => kubelet.exec(asked), stdout, stderr, stop });
  }
  if (url.pathname === FORWARD_PATH) {
    const pod = readForward(url.searchParams);
    const client = await acceptTunnel(chooseTunnel(request, response), request, response, upgrade);
    return serveForwards(client, { connect: (port) => kubelet.forward({ ...pod, port }), stop });
  }
  throw new StatusError("NotFound", "a node serves its own pods only");
}
