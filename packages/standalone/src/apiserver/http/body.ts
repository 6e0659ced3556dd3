import { StatusError } from "@mooring/store";
import { nodeOf } from "../auth/node-name.ts";
import { PROTOBUF } from "../protobuf/envelope.ts";
import type { Call } from "./call.ts";
import type { Body, BodyFormat } from "./parse/body.ts";
import { MOST_BYTES, MOST_VALUES } from "./parse/limits.ts";
import { parseBody } from "./parse/parse.ts";

export type { Body } from "./parse/body.ts";

/** Bodies up to here are read at once: that takes a millisecond or two, whatever they are. */
const SMALL: Readonly<Record<BodyFormat, number>> = { json: 32_768, yaml: 2_048, protobuf: 32_768 };

const tooLarge = () =>
  new StatusError("RequestEntityTooLarge", `Request entity too large: limit is ${MOST_BYTES}`);

/** The whole request body; throws RequestEntityTooLarge before it has kept more than the limit. */
function readBytes(call: Call): Promise<Buffer> {
  const { request, response } = call;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = () => {
      // What still comes is read and dropped, so that the client gets to read the response; then the connection ends.
      response.setHeader("Connection", "close");
      request.off("data", keep);
      request.resume();
      reject(tooLarge());
    };
    const keep = (chunk: Buffer) => {
      size += chunk.length;
      if (size > MOST_BYTES) refuse();
      else chunks.push(chunk);
    };
    // Whoever left while they waited for their turn sends nothing more, and no event says so.
    if (request.destroyed && !request.readableEnded)
      return reject(request.errored ?? new Error("the client has left"));
    if (Number(request.headers["content-length"] ?? 0) > MOST_BYTES) return refuse();
    request.on("data", keep);
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("error", reject);
  });
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

/** Reads and parses the body; undefined when there is none. Throws BadRequest or UnsupportedMediaType. */
export async function readBody(call: Call): Promise<Body | undefined> {
  const bytes = await readBytes(call);
  // Whoever sends deletes without a body may name any type.
  if (bytes.length === 0) return undefined;
  const format = FORMATS.get(contentType(call));
  if (format === undefined) throw unsupportedMediaType([...FORMATS.keys()]);
  return parsed(call, format, bytes);
}

/** Reads and parses a body whose type the caller has checked. Throws BadRequest. */
export async function readAs(call: Call, format: BodyFormat): Promise<Body> {
  return parsed(call, format, await readBytes(call));
}

/** Large ones where they block nobody else. */
async function parsed(call: Call, format: BodyFormat, bytes: Buffer): Promise<Body> {
  const most = mostValues(call);
  if (bytes.length <= SMALL[format]) return parseBody(format, bytes, most);
  return call.parser.parse(call.user.username, { format, bytes, most });
}

/** How many values whoever asks may send, and leave in an object. */
export function mostValues({ user, segments }: Pick<Call, "user" | "segments">): number {
  const trusted = user.groups.includes("system:masters") || segments[1] === "apiextensions.k8s.io";
  if (trusted) return MOST_VALUES.administrator;
  return nodeOf(user) === undefined ? MOST_VALUES.untrusted : MOST_VALUES.node;
}
