import { Readable } from "node:stream";
import { badRequest } from "@mooring/store";
import type { ExecSession } from "../../runtime/index.ts";
import { serveSession } from "../../streams/serve-session.ts";
import { chooseTransport } from "../../streams/transport.ts";
import type { Api, KubeletStreams } from "../api.ts";
import { type Call, flag } from "../http/call.ts";
import type { ItemTarget } from "../resources/target.ts";
import { chooseContainer } from "./choose-container.ts";
import { authorizeStream, kubeletOf, noted, openTransport, podOf } from "./stream.ts";

/** `pods/NAME/attach`: what the container's own program writes from now on. It has neither input nor a terminal. */
export async function handleAttach(call: Call, target: ItemTarget, api: Api): Promise<void> {
  await authorizeStream(call, api);
  const pod = await podOf(target, api);
  for (const name of ["stdin", "tty"])
    if (flag(call.query, name) === true)
      throw badRequest(
        `${name}: containers have none; attach without it, or run a program with kubectl exec`,
      );
  const container = chooseContainer(pod, call.query.get("container") ?? "");
  const kubelet = kubeletOf(api);
  const transport = chooseTransport(call.request, call.response);
  const upgrade = noted(call, target, api, { does: "attach", container });
  const is = (name: string) => flag(call.query, name) === true;
  const wants = { stdin: false, stdout: is("stdout"), stderr: is("stderr"), tty: false };
  const connect = await openTransport(call, upgrade, transport, wants);
  const place = { namespace: target.namespace ?? "", pod: target.name, container };
  const open = async () => listen(kubelet, place);
  await serveSession(connect, { open, stdout: true, stderr: false, stop: call.signal });
}

/** Its log from now on; both outputs are in it. Ends with the container. */
function listen(
  kubelet: KubeletStreams,
  place: { namespace: string; pod: string; container: string },
): ExecSession {
  const over = new AbortController();
  const log = kubelet.logs({
    ...place,
    ...{ follow: true, previous: false, timestamps: false, tailLines: 0 },
    signal: over.signal,
  });
  const stdout = Readable.from(log, { objectMode: false });
  const exit = new Promise<number>((resolve, reject) => {
    stdout
      .once("end", () => resolve(0))
      .once("error", (error) => (over.signal.aborted ? resolve(0) : reject(error)));
    stdout.once("close", () => resolve(0));
  });
  return { stdout, exit, resize: () => {}, kill: async () => over.abort() };
}
