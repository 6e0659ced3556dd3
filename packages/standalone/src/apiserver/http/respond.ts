import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { isStatus, StatusError } from "@mooring/store";
import type { Format } from "./accept.ts";
import type { Call } from "./call.ts";
import { keepFor } from "./keep.ts";
import { yamlText } from "./yaml-text.ts";

/** As in Kubernetes: smaller responses are not worth the time. */
export const GZIP_FROM_BYTES = 128 * 1024;
/** Characters of JSON that are written as YAML at once. */
const SMALL_YAML = 2_048;
/** Smaller ones are not more than the connection itself. */
const COUNTED_FROM_BYTES = 16 * 1024;
const compress = promisify(gzip);

/** True when the client takes gzip. */
export function acceptsGzip(call: Call): boolean {
  return /\bgzip\b/.test(String(call.request.headers["accept-encoding"] ?? ""));
}

/** Sends one value. */
export async function send(call: Call, code: number, value: unknown, format: Format = "json"): Promise<void> {
  const json = JSON.stringify(value);
  const text = format === "yaml" ? await yamlOf(call, json) : `${json}\n`;
  await sendBytes(call, code, Buffer.from(text), `application/${format}`);
}

/** Where it blocks no other request: texts with quotes take a millisecond for each kilobyte. */
async function yamlOf({ parser, user }: Call, json: string): Promise<string> {
  if (json.length <= SMALL_YAML) return yamlText(JSON.parse(json));
  return parser.toYaml(user.username, json);
}

/** Sends bytes, compressed where the client takes it and they are many. */
export async function sendBytes(call: Call, code: number, bytes: Buffer, type: string): Promise<void> {
  const { response } = call;
  let content = bytes;
  response.setHeader("Content-Type", type);
  response.setHeader("Vary", "Accept, Accept-Encoding");
  if (bytes.length >= GZIP_FROM_BYTES && acceptsGzip(call)) {
    content = await compress(bytes, { level: 1 });
    response.setHeader("Content-Encoding", "gzip");
  }
  response.setHeader("Content-Length", content.length);
  response.statusCode = code;
  if (content.length >= COUNTED_FROM_BYTES) keepUntilRead(call, content.length);
  response.end(call.method === "HEAD" ? undefined : content);
}

/** Counts bytes of a response that is sent, until the client has read them. */
export function keepUntilRead(call: Call, bytes: number): void {
  const kept = keepFor(call);
  call.response.once("close", () => kept.release());
  kept.add(bytes);
}

/** Sends plain text. */
export function sendText(call: Call, code: number, text: string): void {
  const { response } = call;
  response.statusCode = code;
  response.setHeader("Content-Type", "text/plain; charset=utf-8");
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.end(text);
}

/** The Status that stands for any error; details of unexpected ones stay in the log. */
export function toStatusError(error: unknown): StatusError {
  if (isStatus(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StatusError("InternalError", `Internal error occurred: ${message}`, {
    causes: [{ reason: "", message }],
  });
}

/** Responds with a Status, or closes the connection when a response has already begun. */
export async function sendError(call: Call, error: StatusError): Promise<void> {
  const { response } = call;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const retry = error.details.retryAfterSeconds;
  if (retry !== undefined) response.setHeader("Retry-After", retry);
  await send(call, error.code, brief(error));
}

/** Of each text of a Status, in characters. */
const LONGEST_TEXT = 16 * 1024;

/** A refusal repeats what it refuses; of a name of three megabytes the client has one already. */
function brief(error: StatusError): Record<string, unknown> {
  const texts = (_key: string, value: unknown): unknown =>
    typeof value === "string" ? truncate(value) : value;
  return JSON.parse(JSON.stringify(error.toStatus(), texts)) as Record<string, unknown>;
}

function truncate(text: string): string {
  return text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT)}... (${text.length} characters)`;
}
