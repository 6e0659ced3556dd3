import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { MESSAGES } from "./messages.ts";
import { SCALARS } from "./scalars.ts";

/** As deep as any of the messages sensibly nests (schemas of CRDs). */
const MAX_DEPTH = 64;

interface Field {
  name: string;
  type: string;
  shape: "single" | "list" | "map";
  omitZero: boolean;
}

const compiled = new Map<string, ReadonlyMap<number, Field>>();

/** Whether there is a message of this name. */
export const isMessage = (name: string): boolean => Object.hasOwn(MESSAGES, name);

function fieldsOf(message: string): ReadonlyMap<number, Field> {
  let fields = compiled.get(message);
  if (fields === undefined) {
    const lines = (MESSAGES[message] ?? "").split(",").filter((line) => line !== "");
    fields = new Map(lines.map(parseField));
    compiled.set(message, fields);
  }
  return fields;
}

function parseField(line: string): [number, Field] {
  const [number = "", name = "", type = ""] = line.split(" ");
  const shape = type.startsWith("[]") ? "list" : type.startsWith("{}") ? "map" : "single";
  return [
    Number(number),
    {
      name: name.replace(/\?$/, ""),
      type: shape === "single" ? type : type.slice(2),
      shape,
      omitZero: name.endsWith("?"),
    },
  ];
}

/** Reads one message into the JSON form of the object. Throws on bytes that are no such message. */
export function decodeMessage(bytes: Uint8Array, message: string, depth = 0): Record<string, unknown> {
  if (depth > MAX_DEPTH) throw new Error("the message is nested too deeply");
  const reader = new BinaryReader(bytes);
  const fields = fieldsOf(message);
  const result: Record<string, unknown> = {};
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    const field = fields.get(number);
    if (field === undefined) reader.skip(wire, number);
    else readField(reader, { wire, field }, result, depth);
  }
  return result;
}

function readField(
  reader: BinaryReader,
  { wire, field }: { wire: WireType; field: Field },
  result: Record<string, unknown>,
  depth: number,
): void {
  const { name, type, shape, omitZero } = field;
  if (shape === "map") {
    const map = (result[name] ?? {}) as Record<string, unknown>;
    const [key, value] = readEntry(reader.bytes(), type, depth);
    Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
    result[name] = map;
    return;
  }
  const value = readValue(reader, wire, type, depth);
  if (shape === "list") {
    const list = (result[name] ?? []) as unknown[];
    list.push(value);
    result[name] = list;
  } else if (name === "~") Object.assign(result, value);
  else if (value !== undefined && !(omitZero && (value === "" || value === 0 || value === false))) {
    result[name] = value;
  }
}

/** A map is a list of messages with the key as field 1 and the value as field 2. */
function readEntry(bytes: Uint8Array, type: string, depth: number): [string, unknown] {
  const reader = new BinaryReader(bytes);
  let key = "";
  let value: unknown;
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (number === 1) key = reader.string();
    else if (number === 2) value = readValue(reader, wire, type, depth);
    else reader.skip(wire, number);
  }
  // An empty value may be left out altogether.
  return [key, value ?? (type === "string" || type === "bytes" ? "" : {})];
}

function readValue(reader: BinaryReader, wire: WireType, type: string, depth: number): unknown {
  const scalar = SCALARS[type];
  if (scalar !== undefined) {
    if (scalar.wire !== wire) throw new Error(`wire type ${WireType[wire]} does not fit ${type}`);
    return scalar.read(reader, (bytes, message) => decodeMessage(bytes, message, depth + 1));
  }
  if (wire !== WireType.LengthDelimited) throw new Error(`wire type ${WireType[wire]} does not fit ${type}`);
  return decodeMessage(reader.bytes(), type, depth + 1);
}
