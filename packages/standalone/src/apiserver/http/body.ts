import { badRequest, StatusError } from "@mooring/store";
import { nodeOf } from "../auth/node-name.ts";
import type { Kept } from "../fairness/buffers.ts";
import { PROTOBUF } from "../protobuf/envelope.ts";
import type { Call } from "./call.ts";
import type { Body, BodyFormat } from "./parse/body.ts";
import { type Limits, MOST, MOST_BYTES } from "./parse/limits.ts";
import { parseBody } from "./parse/parse.ts";

export type { Body } from "./parse/body.ts";

/** Bodies up to here are read at once: that takes a millisecond or two, whatever they are. */
const SMALL: Readonly<Record<BodyFormat, number>> = { json: 32_768, yaml: 2_048, protobuf: 32_768 };

const tooLarge = (most: number) =>
  new StatusError("RequestEntityTooLarge", `Request entity too large: limit is ${most}`);

/**
 * Receives the whole body, before anything else waits for it: a client that sends slowly has nothing that others want. Throws
 * RequestEntityTooLarge before more than `most` bytes are kept, and BadRequest where no body can come.
 */
export async function receiveBody(call: Call, kept: Kept, most = MOST_BYTES): Promise<void> {
  if (call.upgrade !== undefined) throw badRequest("a request for another protocol has no body");
  call.body = await readBytes(call, kept, most);
}

function readBytes({ request, response, signal }: Call, kept: Kept, most: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = () => {
      // What still comes is read and dropped, so that the client gets to read the response; then the connection ends.
      response.setHeader("Connection", "close");
      request.off("data", keep);
      request.resume();
      reject(tooLarge(most));
    };
    const keep = (chunk: Buffer) => {
      size += chunk.length;
      kept.add(chunk.length);
      if (size > most) refuse();
      else chunks.push(chunk);
    };
    // A client that left before that sends nothing more, and no event says so.
    if (request.destroyed && !request.readableEnded)
      return reject(request.errored ?? new Error("the client has left"));
    if (Number(request.headers["content-length"] ?? 0) > most) return refuse();
    request.on("data", keep);
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("error", reject);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** What {@link receiveBody} has received. */
function receivedBody({ body }: Call): Buffer {
  if (body === undefined) throw new Error("the body of this request was not received before it is read");
  return body;
}

/** Media type of the body without parameters; none means JSON. */
export function contentType(call: Call): string {
  return (
    (call.request.headers["content-type"] ?? "application/json").split(";")[0]?.trim().toLowerCase() ?? ""
  );
}

/** UnsupportedMediaType (415), with the types that are taken. */
export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  const list = accepted.join(", ");
  return new StatusError(
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${list}`,
  );
}

const FORMATS: ReadonlyMap<string, BodyFormat> = new Map([
  ["application/json", "json"],
  ["application/yaml", "yaml"],
  [PROTOBUF, "protobuf"],
]);

/** Parses the body that was received; undefined when there is none. Throws BadRequest or UnsupportedMediaType. */
export async function readBody(call: Call): Promise<Body | undefined> {
  const bytes = receivedBody(call);
  // A client that sends deletes without a body may name any type.
  if (bytes.length === 0) return undefined;
  const format = FORMATS.get(contentType(call));
  if (format === undefined) throw unsupportedMediaType([...FORMATS.keys()]);
  return parsed(call, format, bytes);
}

/** Parses a received body whose type the caller has checked. Throws BadRequest. */
export async function readAs(call: Call, format: BodyFormat): Promise<Body> {
  return parsed(call, format, receivedBody(call));
}

/** Large ones where they block no other request. */
async function parsed(call: Call, format: BodyFormat, bytes: Buffer): Promise<Body> {
  const most = limitsOf(call);
  if (bytes.length <= SMALL[format]) return parseBody(format, bytes, most);
  return call.parser.parse(call.user.username, { format, bytes, most });
}

/** How much a client may send at once, and leave in an object. */
export function limitsOf({ user, segments }: Pick<Call, "user" | "segments">): Limits {
  const trusted = user.groups.includes("system:masters") || segments[1] === "apiextensions.k8s.io";
  if (trusted) return MOST.administrator;
  return nodeOf(user) === undefined ? MOST.untrusted : MOST.node;
}
