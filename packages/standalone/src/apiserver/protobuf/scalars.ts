import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

type ReadMessage = (bytes: Uint8Array, message: string) => Record<string, unknown>;

/** How a value that is no plain message is read into JSON; undefined means that it is not there. */
interface Scalar {
  wire: WireType;
  read(reader: BinaryReader, message: ReadMessage): unknown;
}

/** Raw fields of a small message by number: numbers, or bytes. */
function rawFields(bytes: Uint8Array): Map<number, number | Uint8Array> {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, number | Uint8Array>();
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (wire === WireType.Varint) fields.set(number, Number(reader.int64()));
    else if (wire === WireType.LengthDelimited) fields.set(number, reader.bytes());
    else reader.skip(wire, number);
  }
  return fields;
}

const textOf = (value: number | Uint8Array | undefined): string =>
  value instanceof Uint8Array ? new TextDecoder().decode(value) : "";
const numberOf = (value: number | Uint8Array | undefined): number => (typeof value === "number" ? value : 0);

/** The zero time stands for "not set". */
function time(bytes: Uint8Array, digits: 0 | 6): string | undefined {
  const fields = rawFields(bytes);
  const seconds = numberOf(fields.get(1));
  const nanos = numberOf(fields.get(2));
  if (seconds === 0 && nanos === 0) return undefined;
  const whole = new Date(seconds * 1000).toISOString().slice(0, 19);
  const fraction = digits === 0 ? "" : `.${String(Math.floor(nanos / 1000)).padStart(6, "0")}`;
  return `${whole}${fraction}Z`;
}

const lengthDelimited = (read: (bytes: Uint8Array, message: ReadMessage) => unknown): Scalar => ({
  wire: WireType.LengthDelimited,
  read: (reader, message) => read(reader.bytes(), message),
});

const SCHEMA = "apiextensions.JSONSchemaProps";

/** Values of a repeated field in a small message. */
function repeated(bytes: Uint8Array, wanted: number): Uint8Array[] {
  const reader = new BinaryReader(bytes);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (number === wanted && wire === WireType.LengthDelimited) found.push(reader.bytes());
    else reader.skip(wire, number);
  }
  return found;
}

/** How each scalar type of protobuf is read. */
export const SCALARS: Readonly<Record<string, Scalar>> = {
  string: { wire: WireType.LengthDelimited, read: (reader) => reader.string() },
  bool: { wire: WireType.Varint, read: (reader) => reader.bool() },
  int: { wire: WireType.Varint, read: (reader) => Number(reader.int64()) },
  double: { wire: WireType.Bit64, read: (reader) => reader.double() },
  bytes: lengthDelimited((bytes) => Buffer.from(bytes).toString("base64")),
  /** A named list of texts (`extra` of a user). */
  strings: lengthDelimited((bytes) => repeated(bytes, 1).map(textOf)),
  time: lengthDelimited((bytes) => time(bytes, 0)),
  microtime: lengthDelimited((bytes) => time(bytes, 6)),
  quantity: lengthDelimited((bytes) => textOf(rawFields(bytes).get(1))),
  intorstring: lengthDelimited((bytes) => {
    const fields = rawFields(bytes);
    return numberOf(fields.get(1)) === 0 ? numberOf(fields.get(2)) : textOf(fields.get(3));
  }),
  raw: lengthDelimited((bytes) => {
    const text = textOf(rawFields(bytes).get(1));
    return text === "" ? undefined : (JSON.parse(text) as unknown);
  }),
  schemaorbool: lengthDelimited((bytes, message) => {
    const fields = rawFields(bytes);
    const schema = fields.get(2);
    return schema instanceof Uint8Array ? message(schema, SCHEMA) : numberOf(fields.get(1)) !== 0;
  }),
  schemaorarray: lengthDelimited((bytes, message) => {
    const schema = rawFields(bytes).get(1);
    if (schema instanceof Uint8Array) return message(schema, SCHEMA);
    return repeated(bytes, 2).map((item) => message(item, SCHEMA));
  }),
  schemaorstrings: lengthDelimited((bytes, message) => {
    const schema = rawFields(bytes).get(1);
    if (schema instanceof Uint8Array) return message(schema, SCHEMA);
    return repeated(bytes, 2).map(textOf);
  }),
};
