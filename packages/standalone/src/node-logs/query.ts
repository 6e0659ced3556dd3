import { badRequest } from "@mooring/store";
import type { LogRequest } from "../kubelet/index.ts";

/** The one path that a node answers. */
export const LOGS_PATH = "/logs";

const FLAGS = ["follow", "previous", "timestamps"] as const;
const NUMBERS = ["tailLines", "limitBytes", "sinceSeconds"] as const;
const TEXTS = ["container", "sinceTime"] as const;

export function writeQuery(request: LogRequest): string {
  const query = new URLSearchParams({ namespace: request.namespace, pod: request.pod });
  for (const name of FLAGS) if (request[name] === true) query.set(name, "true");
  for (const name of [...NUMBERS, ...TEXTS]) {
    const value = request[name];
    if (value !== undefined) query.set(name, String(value));
  }
  return query.toString();
}

/** Throws BadRequest for what {@link writeQuery} does not write. */
export function readQuery(query: URLSearchParams, signal: AbortSignal): LogRequest {
  const [namespace, pod] = [query.get("namespace") ?? "", query.get("pod") ?? ""];
  if (namespace === "" || pod === "") throw badRequest("namespace and pod are required");
  const request: LogRequest = { namespace, pod, signal };
  for (const name of FLAGS) if (query.get(name) === "true") request[name] = true;
  for (const name of TEXTS) {
    const value = query.get(name);
    if (value !== null) request[name] = value;
  }
  for (const name of NUMBERS) {
    const value = query.get(name);
    if (value === null) continue;
    if (!/^\d{1,15}$/.test(value)) throw badRequest(`${name}: ${JSON.stringify(value)} is not a number`);
    request[name] = Number(value);
  }
  return request;
}
