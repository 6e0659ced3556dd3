import { badRequest, firstOf, type Pod, Pods, StatusError } from "@mooring/store";
import { readTime } from "../../schema/time.ts";
import { sendLog } from "../../streams/send-log.ts";
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
  const key = { namespace: target.namespace ?? "", pod: target.name, container };
  await firstOf([call.signal, signal], async (stop) => {
    try {
      const log = kubelet.logs({ ...logRequest(call), ...key, signal: stop });
      await sendLog(call.response, log, stop, call.seat);
    } catch (error) {
      if (!call.response.headersSent) throw error;
      // Too late for a Status: the error is written into the log that is read.
      if (!stop.aborted) call.response.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
      call.response.end();
    }
  });
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
  return {
    follow: flag(query, "follow") ?? false,
    previous: flag(query, "previous") ?? false,
    timestamps: flag(query, "timestamps") ?? false,
    ...number("tailLines"),
    ...number("limitBytes"),
    ...number("sinceSeconds"),
    ...(since ? { sinceTime: sinceTime(since) } : {}),
  };
}

/** In whole seconds, as an API server hands it on to a kubelet. */
function sinceTime(text: string): string {
  const read = readTime(text, "seconds");
  if ("problem" in read) throw badRequest(`sinceTime: ${read.problem}`);
  return read.time;
}
