import { badRequest, StatusError } from "@mooring/store";
import { parseDocument } from "yaml";
import { decodeProtobuf, PROTOBUF } from "../protobuf/envelope.ts";
import type { Call } from "./call.ts";
import { duplicateFields } from "./duplicate-fields.ts";

/** As in Kubernetes: three mebibytes. */
const LIMIT_BYTES = 3 * 1024 * 1024;
const MAX_DEPTH = 1000;

export interface Body {
  value: unknown;
  /** Complaints that only strict decoding makes, as `duplicate field "metadata.name"`. */
  duplicates: string[];
}

const tooLarge = () =>
  new StatusError("RequestEntityTooLarge", `Request entity too large: limit is ${LIMIT_BYTES}`);

/** The whole request body; throws RequestEntityTooLarge before it has kept more than the limit. */
export function readBytes(call: Call): Promise<Buffer> {
  const { request, response } = call;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = () => {
      // What still comes is read and dropped, so that the client gets to read the answer; then the connection ends.
      response.setHeader("Connection", "close");
      request.off("data", keep);
      request.resume();
      reject(tooLarge());
    };
    const keep = (chunk: Buffer) => {
      size += chunk.length;
      if (size > LIMIT_BYTES) refuse();
      else chunks.push(chunk);
    };
    if (Number(request.headers["content-length"] ?? 0) > LIMIT_BYTES) return refuse();
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

export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  const list = accepted.join(", ");
  return new StatusError(
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${list}`,
  );
}

type Parse = (bytes: Buffer) => Body;

const PARSERS: Readonly<Record<string, Parse>> = {
  "application/json": (bytes) => parseJson(bytes.toString("utf8")),
  "application/yaml": (bytes) => parseYaml(bytes.toString("utf8")),
  [PROTOBUF]: (bytes) => ({ value: decodeProtobuf(bytes), duplicates: [] }),
};

/** Parses the body; undefined when there is none. Throws BadRequest or UnsupportedMediaType. */
export async function readBody(call: Call): Promise<Body | undefined> {
  const bytes = await readBytes(call);
  // Whoever sends deletes without a body may name any type.
  if (bytes.length === 0) return undefined;
  const type = contentType(call);
  const parse = Object.hasOwn(PARSERS, type) ? PARSERS[type] : undefined;
  if (parse === undefined) throw unsupportedMediaType(Object.keys(PARSERS));
  return parse(bytes);
}

export function parseJson(text: string): Body {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw badRequest(`the object provided is unrecognized: couldn't parse JSON: ${messageOf(error)}`);
  }
  checkDepth(value);
  return { value, duplicates: duplicateFields(text) };
}

export function parseYaml(text: string): Body {
  const document = parseDocument(text, { uniqueKeys: false, merge: true });
  const [problem] = document.errors;
  if (problem !== undefined)
    throw badRequest(`error converting YAML to JSON: yaml: ${firstLine(problem.message)}`);
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    checkDepth(value);
    // Through JSON, so that nothing but JSON values gets in (YAML knows NaN, undefined and shared nodes).
    const json = JSON.stringify(value ?? null);
    const strict = parseDocument(text, { uniqueKeys: true, merge: true });
    return { value: JSON.parse(json), duplicates: strict.errors.map((error) => firstLine(error.message)) };
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw badRequest(`error converting YAML to JSON: ${messageOf(error)}`);
  }
}

/** Iterative: the point is not to recurse into what somebody nested a million times. */
function checkDepth(root: unknown): void {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw badRequest("the object provided is nested too deeply");
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== "object" || value === null) continue;
      for (const child of Object.values(value))
        if (typeof child === "object" && child !== null) next.push(child);
    }
    level = next;
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? firstLine(error.message) : String(error));
const firstLine = (text: string) => text.split("\n", 1)[0] ?? "";
