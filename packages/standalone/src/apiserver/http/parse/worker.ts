import { parentPort } from "node:worker_threads";
import { StatusError, type StatusReason } from "@mooring/store";
import { yamlElements, yamlText } from "../yaml-text.ts";
import type { BodyFormat } from "./body.ts";
import type { Limits } from "./limits.ts";
import { parseBody } from "./parse.ts";

/** What is asked of the thread: bytes that an untrusted client has sent. */
export interface ParseRequest {
  id: number;
  format: BodyFormat;
  bytes: Uint8Array;
  /** What may be in it. */
  most: Limits;
}

/** What else it does: writes a value that is JSON as YAML, or the elements of a list. */
export interface WriteRequest {
  id: number;
  json: string;
  as: "value" | "elements";
}

/** The value as JSON, which is read again faster than anything else is handed over; or why there is none. */
export type ParseResult = { id: number } & (
  | { json: string; duplicates: string[] }
  | { yaml: string }
  | { refused: { reason: StatusReason; message: string } }
);

function parseRequest({ id, format, bytes, most }: ParseRequest): ParseResult {
  try {
    const { value, duplicates } = parseBody(
      format,
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
      most,
    );
    return { id, json: JSON.stringify(value), duplicates };
  } catch (error) {
    return { id, refused: refusal(error) };
  }
}

function writeRequest({ id, json, as }: WriteRequest): ParseResult {
  try {
    const value: unknown = JSON.parse(json);
    return { id, yaml: as === "value" ? yamlText(value) : yamlElements(value as unknown[]) };
  } catch (error) {
    return { id, refused: refusal(error) };
  }
}

parentPort?.on("message", (request: ParseRequest | WriteRequest) =>
  parentPort?.postMessage("json" in request ? writeRequest(request) : parseRequest(request)),
);

function refusal(error: unknown): { reason: StatusReason; message: string } {
  if (error instanceof StatusError) return { reason: error.reason, message: error.message };
  return { reason: "BadRequest", message: error instanceof Error ? error.message : String(error) };
}
