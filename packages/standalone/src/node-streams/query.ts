import { badRequest } from "@mooring/store";
import type { ExecRequest, ForwardRequest, LogRequest } from "../kubelet/index.ts";

/** The paths that a node serves; the last two take the connection over. */
export const LOGS_PATH = "/logs";
/** See {@link LOGS_PATH}. */
export const CLAIMS_PATH = "/claims";
/** See {@link LOGS_PATH}. */
export const EXEC_PATH = "/exec";
/** See {@link LOGS_PATH}. */
export const FORWARD_PATH = "/portforward";

const FLAGS = ["follow", "previous", "timestamps"] as const;
const NUMBERS = ["tailLines", "limitBytes", "sinceSeconds"] as const;
const TEXTS = ["container", "sinceTime"] as const;

/** A request for a log whose flags are all there. */
export interface WholeLogRequest extends LogRequest {
  follow: boolean;
  previous: boolean;
  timestamps: boolean;
  signal: AbortSignal;
}

/** The query of a request for a log, as the API server asks a node for it. */
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
export function readQuery(query: URLSearchParams, signal: AbortSignal): WholeLogRequest {
  const [namespace, pod] = [query.get("namespace") ?? "", query.get("pod") ?? ""];
  if (namespace === "" || pod === "") throw badRequest("namespace and pod are required");
  const is = (name: (typeof FLAGS)[number]) => query.get(name) === "true";
  const request: WholeLogRequest = {
    ...{ namespace, pod, signal },
    ...{ follow: is("follow"), previous: is("previous"), timestamps: is("timestamps") },
  };
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

/** Which outputs of a program the client wants. */
export type WantedExec = ExecRequest & { stdout: boolean; stderr: boolean };
/** The pod whose ports are forwarded; which ports, the stream itself names. */
export type ForwardPlace = Omit<ForwardRequest, "port">;

const EXEC_FLAGS = ["stdin", "stdout", "stderr", "tty"] as const;

/** Path and query of a request to run a program. */
export function execPath(request: WantedExec): string {
  const { namespace, pod, container, command } = request;
  const query = new URLSearchParams({ namespace, pod, container });
  for (const name of EXEC_FLAGS) if (request[name]) query.set(name, "true");
  for (const arg of command) query.append("command", arg);
  return `${EXEC_PATH}?${query}`;
}

/** Throws BadRequest for what {@link execPath} does not write. */
export function readExec(query: URLSearchParams): WantedExec {
  const [container, command] = [query.get("container") ?? "", query.getAll("command")];
  if (container === "" || command.length === 0) throw badRequest("container and command are required");
  const is = (name: (typeof EXEC_FLAGS)[number]) => query.get(name) === "true";
  return {
    ...readForward(query),
    ...{ container, command },
    ...{ stdin: is("stdin"), stdout: is("stdout"), stderr: is("stderr"), tty: is("tty") },
  };
}

/** Path and query of a request to forward ports. */
export function forwardPath({ namespace, pod }: ForwardPlace): string {
  return `${FORWARD_PATH}?${new URLSearchParams({ namespace, pod })}`;
}

/** Throws BadRequest for what {@link forwardPath} does not write. */
export function readForward(query: URLSearchParams): ForwardPlace {
  const [namespace, pod] = [query.get("namespace") ?? "", query.get("pod") ?? ""];
  if (namespace === "" || pod === "") throw badRequest("namespace and pod are required");
  return { namespace, pod };
}
