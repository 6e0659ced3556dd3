import { createHash } from "node:crypto";
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";

/**
 * Equal for requests that mean the same. Not simply their bytes: clients write maps in any order (Go's in a new one
 * each time). A hash, since requests carry secrets and fingerprints are kept.
 */
export function fingerprint(desc: DescMessage, message: Message): string {
  const hash = createHash("sha256").update(desc.typeName);
  return hash.update(JSON.stringify(canonical(reflect(desc, message)))).digest("base64");
}

function canonical(message: ReflectMessage): unknown[] {
  return message.sortedFields
    .filter((field) => message.isSet(field))
    .map((field) => {
      const value: unknown = message.get(field);
      if (field.fieldKind === "list") return [field.number, [...(value as Iterable<unknown>)].map(plain)];
      if (field.fieldKind === "map") return [field.number, sorted(value as Iterable<[unknown, unknown]>)];
      return [field.number, plain(value)];
    });
}

function sorted(entries: Iterable<[unknown, unknown]>): [string, unknown][] {
  return [...entries]
    .map(([key, value]): [string, unknown] => [String(key), plain(value)])
    .sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
}

function plain(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  return typeof value === "object" && value !== null ? canonical(value as ReflectMessage) : value;
}
