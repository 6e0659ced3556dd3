import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { badRequest, StatusError } from "@mooring/store";
import { decodeMessage, isMessage } from "./decode.ts";

/** Content type of the clients of built-in kinds since client-go 1.32. */
export const PROTOBUF = "application/vnd.kubernetes.protobuf";
const MAGIC = Buffer.from("k8s\0", "latin1");

/** The object in a protobuf body, as JSON. Throws BadRequest, or UnsupportedMediaType for kinds without protobuf. */
export function decodeProtobuf(body: Buffer): Record<string, unknown> {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) throw badRequest("the body is not a protobuf object");
  try {
    const { apiVersion, kind, raw } = readEnvelope(body.subarray(MAGIC.length));
    return { apiVersion, kind, ...decodeMessage(raw, messageOf(apiVersion, kind)) };
  } catch (error) {
    if (error instanceof StatusError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw badRequest(`the protobuf body cannot be read: ${reason}`);
  }
}

/** runtime.Unknown: 1 is the TypeMeta (1 apiVersion, 2 kind), 2 the object. */
function readEnvelope(bytes: Uint8Array): { apiVersion: string; kind: string; raw: Uint8Array } {
  const reader = new BinaryReader(bytes);
  const result: { apiVersion: string; kind: string; raw: Uint8Array } = {
    apiVersion: "",
    kind: "",
    raw: new Uint8Array(),
  };
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (number === 1) Object.assign(result, readTypeMeta(reader.bytes()));
    else if (number === 2 && wire === WireType.LengthDelimited) result.raw = reader.bytes();
    else reader.skip(wire, number);
  }
  return result;
}

function readTypeMeta(bytes: Uint8Array): { apiVersion?: string; kind?: string } {
  const reader = new BinaryReader(bytes);
  const result: { apiVersion?: string; kind?: string } = {};
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (number === 1) result.apiVersion = reader.string();
    else if (number === 2) result.kind = reader.string();
    else reader.skip(wire, number);
  }
  return result;
}

/** Messages are named by the first label of the group: `storage.StorageClass`, `core.Pod`. */
function messageOf(apiVersion: string, kind: string): string {
  if (kind === "DeleteOptions") return "meta.DeleteOptions";
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "core" : (apiVersion.slice(0, slash).split(".", 1)[0] ?? "");
  const name = `${group}.${kind}`;
  if (apiVersion.slice(slash + 1) === "v1" && isMessage(name)) return name;
  throw new StatusError(
    "UnsupportedMediaType",
    `there is no protobuf form of ${kind} in ${apiVersion}: send JSON`,
  );
}
