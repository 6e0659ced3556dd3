import { once } from "node:events";
import { badRequest, type Pod, Pods, StatusError } from "@mooring/store";
import type { Api, LogRequest } from "../api.ts";
import { type Call, flag } from "../http/call.ts";
import { integer } from "../resources/options.ts";
import type { ItemTarget } from "../resources/target.ts";
import { chooseContainer } from "./choose-container.ts";

/** GET pods/NAME/log: plain text, streamed while `follow` is set. */
export async function handleLog(
  call: Call,
  target: ItemTarget,
  { store, kubelet, signal }: Api,
): Promise<void> {
  const pod = await store.get<Pod>(Pods, { namespace: target.namespace ?? "", name: target.name });
  const container = chooseContainer(pod, call.query.get("container") ?? "");
  if (!pod.spec?.nodeName) throw badRequest(`pod ${target.name} does not have a host assigned`);
  if (kubelet === undefined)
    throw new StatusError("ServiceUnavailable", "this server runs without a node agent: no logs");
  // Ends with the answer too: what hangs on a signal of the whole server would otherwise stay as long as that.
  const over = new AbortController();
  const stop = AbortSignal.any([call.signal, signal, over.signal]);
  const key = { namespace: target.namespace ?? "", pod: target.name, container };
  try {
    await stream(call, kubelet.logs({ ...logRequest(call), ...key, signal: stop }), stop);
  } finally {
    over.abort();
  }
}

async function stream(
  { response }: Call,
  log: AsyncIterable<string | Uint8Array>,
  stop: AbortSignal,
): Promise<void> {
  const chunks = log[Symbol.asyncIterator]();
  // The first chunk decides between a Status and a log.
  const first = await chunks.next();
  response.writeHead(200, { "Content-Type": "text/plain" });
  response.flushHeaders();
  try {
    for (let chunk = first; !chunk.done; chunk = await chunks.next()) {
      if (!response.write(chunk.value)) await once(response, "drain", { signal: stop });
    }
  } catch (error) {
    if (!stop.aborted) response.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
  } finally {
    await chunks.return?.();
  }
  response.end();
}

function logRequest(call: Call): Omit<LogRequest, "namespace" | "pod" | "signal"> {
  const { query } = call;
  const since = query.get("sinceTime");
  const number = (name: "tailLines" | "limitBytes" | "sinceSeconds") => {
    const value = integer(call, name);
    return value === undefined ? {} : { [name]: value };
  };
  if (since && query.get("sinceSeconds")) {
    throw badRequest("at most one of `sinceTime` or `sinceSeconds` may be specified");
  }
  if (since && Number.isNaN(Date.parse(since)))
    throw badRequest(`sinceTime ${JSON.stringify(since)} is not a time`);
  return {
    follow: flag(query, "follow") ?? false,
    previous: flag(query, "previous") ?? false,
    timestamps: flag(query, "timestamps") ?? false,
    ...number("tailLines"),
    ...number("limitBytes"),
    ...number("sinceSeconds"),
    ...(since ? { sinceTime: since } : {}),
  };
}
