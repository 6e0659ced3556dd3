import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { withTimeLimit } from "@mooring/store";
import type { ExecResult } from "../../runtime/index.ts";
import type { Container } from "./field-ref.ts";

/** Of a response that are read, as in Kubernetes: a short one is ended by the program itself. */
const MOST_BYTES = 10 * 1024;

/** As in Kubernetes: of responses before the response, of which a program may send any number. */
const MOST_INFORMATIONAL = 5;

/** A probe of a container's spec. */
export type Probe = NonNullable<Container["livenessProbe"]>;

/** Where a probe finds its container. */
export interface ProbeTarget {
  /** Address that the container's ports are on. */
  host: string;
  ports: NonNullable<Container["ports"]>;
  exec(argv: readonly string[], timeoutMs: number): Promise<ExecResult>;
}

/**
 * Undefined when the probe succeeds, else what went wrong. Throws when a command could not be started: that says nothing about the
 * container, and Kubernetes does not count it.
 */
export async function runProbe(probe: Probe, target: ProbeTarget): Promise<string | undefined> {
  const timeoutMs = (probe.timeoutSeconds || 1) * 1000;
  if (probe.exec !== undefined) return probeExec(probe.exec.command ?? [], target, timeoutMs);
  try {
    if (probe.httpGet !== undefined) return await probeHttp(probe.httpGet, target, timeoutMs);
    if (probe.tcpSocket !== undefined) {
      await probeTcp(probe.tcpSocket.host || target.host, portOf(probe.tcpSocket.port, target), timeoutMs);
      return undefined;
    }
    return "this kind of probe is not supported; use exec, httpGet or tcpSocket";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function probeExec(
  command: readonly string[],
  { exec }: ProbeTarget,
  timeoutMs: number,
): Promise<string | undefined> {
  const { exitCode, started, output, timedOut } = await exec(command, timeoutMs);
  if (timedOut) return `command timed out after ${timeoutMs / 1000}s`;
  if (exitCode === 0) return undefined;
  if (!started) throw new Error(`command could not be started: ${output.slice(-512)}`);
  return `command exited with ${exitCode}: ${output.slice(-512)}`;
}

function portOf(port: string | number, { ports }: ProbeTarget): number {
  const named = ports.find(({ name }) => name === port)?.containerPort;
  return named ?? Number(port);
}

type HttpGet = NonNullable<Probe["httpGet"]>;

function probeHttp(get: HttpGet, target: ProbeTarget, timeoutMs: number): Promise<string | undefined> {
  const request = get.scheme === "HTTPS" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: get.host || target.host,
        port: portOf(get.port, target),
        path: get.path || "/",
        headers: headersOf(get),
        signal: withTimeLimit(timeoutMs),
        // A probe asks whether it responds, not who it is; as in Kubernetes.
        rejectUnauthorized: false,
      },
      (response) => {
        readNoFurther(response);
        const code = response.statusCode ?? 0;
        resolve(code >= 200 && code < 400 ? undefined : `HTTP probe failed with statuscode: ${code}`);
      },
    );
    let informational = 0;
    sent.on("information", () => {
      informational += 1;
      if (informational > MOST_INFORMATIONAL) sent.destroy(new Error("too many 1xx informational responses"));
    });
    sent.on("error", reject);
    sent.end();
  });
}

/** One that is given twice is sent twice, but for the host: of that the first counts, as in Kubernetes. */
function headersOf({ httpHeaders = [] }: HttpGet): Record<string, string | string[]> {
  const given = new Map<string, string | string[]>([["user-agent", "kube-probe/mooring"]]);
  for (const name of new Set(httpHeaders.map((each) => each.name.toLowerCase()))) {
    const values = httpHeaders.filter((each) => each.name.toLowerCase() === name).map(({ value }) => value);
    const [first = ""] = values;
    given.set(name, values.length === 1 || name === "host" ? first : values);
  }
  return Object.fromEntries(given);
}

/** What the program responds does not matter, and it may send without end. */
function readNoFurther(response: IncomingMessage): void {
  let left = MOST_BYTES;
  response.on("error", () => {});
  response.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) response.destroy();
  });
}

function probeTcp(host: string, port: number, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    socket.setTimeout(timeoutMs, () =>
      socket.destroy(new Error(`no connection to ${host}:${port} within ${timeoutMs} ms`)),
    );
    socket.once("connect", () => {
      socket.destroy();
      resolve();
    });
    socket.once("error", reject);
  });
}
