import type { Api } from "../api.ts";
import type { Call } from "../http/call.ts";
import { handleAttach } from "../pods/attach.ts";
import { handleBinding } from "../pods/binding.ts";
import { handleEviction } from "../pods/eviction.ts";
import { handleExec } from "../pods/exec.ts";
import { handleLog } from "../pods/log.ts";
import { handlePortForward } from "../pods/port-forward.ts";
import { handleFinalize } from "./finalize.ts";
import { type ItemTarget, methodNotAllowed, pathNotFound } from "./target.ts";
import { handleToken } from "./token.ts";

type Handler = (call: Call, target: ItemTarget, api: Api) => Promise<void>;

/** Subresources with behaviour of their own, by method and `group/plural/subresource`. */
const HANDLERS: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
  "/namespaces/finalize": { PUT: handleFinalize },
  "/pods/log": { GET: handleLog },
  // SPDY asks by POST.
  "/pods/exec": { GET: handleExec, POST: handleExec },
  "/pods/attach": { GET: handleAttach, POST: handleAttach },
  "/pods/portforward": { GET: handlePortForward, POST: handlePortForward },
  "/pods/eviction": { POST: handleEviction },
  "/pods/binding": { POST: handleBinding },
  "/serviceaccounts/token": { POST: handleToken },
};

/** A subresource of its own: exec, log, eviction, binding, token and the like. */
export async function handleSpecial(call: Call, target: ItemTarget, api: Api): Promise<void> {
  const path = `${target.group}/${target.plural}/${target.subresource ?? ""}`;
  const handlers = Object.hasOwn(HANDLERS, path) ? HANDLERS[path] : undefined;
  if (handlers === undefined) throw pathNotFound();
  const handler = Object.hasOwn(handlers, call.method) ? handlers[call.method] : undefined;
  if (handler === undefined) throw methodNotAllowed();
  return handler(call, target, api);
}
