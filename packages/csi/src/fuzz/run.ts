import {
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type Message,
  toBinary,
} from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import { fullName } from "../calls/interceptor.ts";
import { Code, type CodeName, codeName } from "../errors/codes.ts";
import { socketPath } from "../sockets/endpoint.ts";
import { services, servicesV0 } from "../wire/services.ts";
import { breakConnection } from "./break-connection.ts";
import { randomMessage } from "./generate.ts";
import { learn } from "./learn.ts";
import { MUTATIONS } from "./mutate.ts";
import { Random } from "./random.ts";
import type { Known } from "./values.ts";

/** What a fuzz run does. */
export interface FuzzOptions {
  /** A folder that paths in requests stay below. The plugin may make and mount things there. */
  folder: string;
  /** Requests in all. Default 1,000. */
  requests?: number;
  /** A run with the same seed sends the same requests as far as responses allow. Default: the time. */
  seed?: number;
  /** Requests at the same time. Default 8. */
  concurrency?: number;
  /** A call that takes longer is a hang, in milliseconds. Default 30,000. */
  timeoutMs?: number;
  /** Codes that are a finding. Default: UNKNOWN, INTERNAL, DATA_LOSS. */
  badCodes?: readonly Code[];
  /** Services to call. Default: all of csi.v1, csi.v0 and the volume groups. */
  services?: readonly DescService[];
  /** Ends the run early. */
  signal?: AbortSignal;
}

/** Something that a plugin should not have done. */
export interface FuzzFinding {
  kind: "bad-code" | "hang" | "dead";
  /** `csi.v1.Controller/CreateVolume` */
  method: string;
  mutation: string;
  /** The request's bytes, to send them again. */
  request: Buffer;
  message: string;
}

/** What a run saw. */
export interface FuzzReport {
  seed: number;
  requests: number;
  /** Responses by code. */
  codes: Partial<Record<CodeName, number>>;
  /** Calls that succeeded, by method: how far the run got into the plugin. */
  reached: Record<string, number>;
  /** The longest call of each method, in milliseconds: what waits for what shows here before it is a hang. */
  slowest: Record<string, number>;
  /** Connections that were broken on purpose. */
  brokenConnections: number;
  findings: FuzzFinding[];
}

const DEFAULT_SERVICES: readonly DescService[] = [...Object.values(services), ...Object.values(servicesV0)];
const MUTATION_NAMES = Object.keys(MUTATIONS) as [string, ...string[]];

type Method = DescMethodUnary | DescMethodServerStreaming;

interface Run {
  readonly path: string;
  readonly client: Client;
  readonly random: Random;
  readonly known: Known;
  readonly methods: [Method, ...Method[]];
  readonly report: FuzzReport;
  readonly timeoutMs: number;
  readonly badCodes: ReadonlySet<number>;
}

/**
 * Sends random and damaged requests to any CSI plugin and reports what it should not have returned: codes that
 * blame the plugin, calls without a response, and a plugin that is gone afterwards. It makes and deletes real volumes:
 * point it at a plugin that may lose them.
 */
export async function fuzz(endpoint: string, options: FuzzOptions): Promise<FuzzReport> {
  const { requests = 1000, concurrency = 8, seed = Date.now() >>> 0, signal } = options;
  const run = open(endpoint, options, seed);
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (sent < requests && signal?.aborted !== true) {
      sent += 1;
      await one(run);
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, worker));
    await expectAlive(run);
  } finally {
    run.client.close();
  }
  return { ...run.report, requests: sent };
}

function open(endpoint: string, options: FuzzOptions, seed: number): Run {
  const path = socketPath(endpoint);
  const all = (options.services ?? DEFAULT_SERVICES).flatMap((service) => service.methods);
  const [first, ...rest] = all.filter(
    (method): method is Method => method.methodKind === "unary" || method.methodKind === "server_streaming",
  );
  if (first === undefined) throw new TypeError("there is no method to call");
  return {
    path,
    client: new Client(`unix:${path}`, credentials.createInsecure(), {
      "grpc.enable_channelz": 0,
      "grpc.max_receive_message_length": -1,
    }),
    random: new Random(seed),
    known: { ids: new Map(), folder: options.folder },
    methods: [first, ...rest],
    report: { seed, requests: 0, codes: {}, reached: {}, slowest: {}, brokenConnections: 0, findings: [] },
    timeoutMs: options.timeoutMs ?? 30_000,
    badCodes: new Set(options.badCodes ?? [Code.UNKNOWN, Code.INTERNAL, Code.DATA_LOSS]),
  };
}

async function one(run: Run): Promise<void> {
  const { random, report } = run;
  const method = random.pick(run.methods);
  const message = randomMessage(method.input, run.known, random);
  // Two thirds are sent undamaged: the others are refused by the plugin's decoder, and do not reach its own code.
  const mutation = random.chance(0.67) ? "none" : random.pick(MUTATION_NAMES);
  const plain = Buffer.from(toBinary(method.input, message));
  const bytes = MUTATIONS[mutation]?.(plain, random) ?? plain;
  const name = fullName(method);
  if (random.chance(0.02)) {
    report.brokenConnections += 1;
    return breakConnection(run.path, `/${name}`, bytes, random);
  }
  const begin = performance.now();
  const { code, details, responses } = await send(run, method, bytes);
  report.slowest[name] = Math.max(report.slowest[name] ?? 0, Math.round(performance.now() - begin));
  report.codes[codeName(code)] = (report.codes[codeName(code)] ?? 0) + 1;
  if (code === Code.OK) report.reached[name] = (report.reached[name] ?? 0) + 1;
  const kind = code === Code.DEADLINE_EXCEEDED ? "hang" : run.badCodes.has(code) ? "bad-code" : undefined;
  if (kind !== undefined) {
    const text = `${codeName(code)}: ${details}`;
    report.findings.push({ kind, method: name, mutation, request: bytes, message: text });
  }
  for (const response of responses)
    learn(run.known, method.output, fromBinary(method.output, response) as Message);
}

interface Outcome {
  code: number;
  details: string;
  /** One, or as many as a stream had. */
  responses: Buffer[];
}

/** Every method is called as a stream: a response and a status is a stream of one. */
function send({ client, timeoutMs }: Run, method: Method, bytes: Buffer): Promise<Outcome> {
  const pass = (buffer: Buffer): Buffer => buffer;
  return new Promise((resolve) => {
    const deadline = { deadline: Date.now() + timeoutMs };
    const responses: Buffer[] = [];
    const call = client.makeServerStreamRequest(`/${fullName(method)}`, pass, pass, bytes, deadline);
    // The error of a failed call comes as its status, too.
    call.on("error", () => {});
    call.on("data", (response: Buffer) => responses.push(response));
    call.on("status", ({ code, details }) => resolve({ code, details, responses }));
  });
}

async function expectAlive(run: Run): Promise<void> {
  const method = services.identity.method.probe;
  const { code, details } = await send(run, method, Buffer.alloc(0));
  if (code === Code.OK || code === Code.FAILED_PRECONDITION) return;
  const message = `after the run, Probe returns ${codeName(code)}: ${details}`;
  run.report.findings.push({
    kind: "dead",
    method: fullName(method),
    mutation: "none",
    request: Buffer.alloc(0),
    message,
  });
}
