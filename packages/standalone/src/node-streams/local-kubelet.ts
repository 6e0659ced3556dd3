import type { Kubelet } from "../kubelet/index.ts";
import type { LocalAccess } from "./access.ts";
import { fetchNodeLog } from "./fetch.ts";

/** The kubelet of this process, as a thread sees it that reaches it by a socket. Connections are relayed to it. */
export function localKubelet(access: LocalAccess): Pick<Kubelet, "exec" | "forward" | "logs"> {
  const relayed = async (): Promise<never> => {
    throw new Error("connections to this node's own pods are handed on as they are");
  };
  return {
    logs: ({ signal, ...request }) => fetchNodeLog(access, request, signal ?? new AbortController().signal),
    exec: relayed,
    forward: relayed,
  };
}
