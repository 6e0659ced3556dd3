import { badRequest } from "@mooring/store";
import { execPath } from "../../node-streams/query.ts";
import { serveSession } from "../../streams/serve-session.ts";
import { chooseTransport } from "../../streams/transport.ts";
import type { Api } from "../api.ts";
import { type Call, flag } from "../http/call.ts";
import type { ItemTarget } from "../resources/target.ts";
import { chooseContainer } from "./choose-container.ts";
import { authorizeStream, kubeletOf, noted, openTransport, podOf } from "./stream.ts";

/** `pods/NAME/exec`: a program beside the container's own, its streams over a WebSocket or SPDY. */
export async function handleExec(call: Call, target: ItemTarget, api: Api): Promise<void> {
  await authorizeStream(call, api);
  const pod = await podOf(target, api);
  const command = call.query.getAll("command");
  const is = (name: string) => flag(call.query, name) === true;
  const wants = { stdin: is("stdin"), stdout: is("stdout"), stderr: is("stderr"), tty: is("tty") };
  if (command.length === 0 || command[0] === "") throw badRequest("command: at least a program is required");
  if (!wants.stdin && !wants.stdout && !wants.stderr)
    throw badRequest("at least one of stdin, stdout and stderr is required");
  const container = chooseContainer(pod, call.query.get("container") ?? "");
  const kubelet = kubeletOf(api);
  const relay = await kubelet.elsewhere(pod);
  // After all other checks: a kubectl whose WebSocket was refused asks again by SPDY, and prints the second response.
  const transport = chooseTransport(call.request, call.response);
  const upgrade = noted(call, target, api, { does: "exec", container, program: command[0] ?? "" });
  const { stdin, stdout, stderr, tty } = wants;
  const request = { namespace: target.namespace ?? "", pod: target.name, container, command, stdin, tty };
  if (relay !== undefined)
    return relay({ ...call, upgrade }, execPath({ ...request, stdout, stderr }), call.signal);
  const connect = await openTransport(call, upgrade, transport, wants);
  await serveSession(connect, { open: () => kubelet.exec(request), stdout, stderr, stop: call.signal });
}
