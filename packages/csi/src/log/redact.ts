import { type DescField, type DescMessage, getOption, type Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { csi_secret } from "../gen/csi/v1/csi_pb.ts";

/** What stands in a log where a secret was. */
export const REDACTED = "***stripped***";

/** Mount flags may carry credentials (section "VolumeCapability"): they stay out of logs like secrets. */
const SENSITIVE: ReadonlySet<string> = new Set(["mount_flags", "secrets"]);

function isSecret(field: DescField): boolean {
  return SENSITIVE.has(field.name) || getOption(field, csi_secret);
}

function isMessage(value: unknown): value is ReflectMessage {
  return typeof value === "object" && value !== null && "desc" in value && "fields" in value;
}

function plain(value: unknown): unknown {
  if (isMessage(value)) return loggable(value);
  return typeof value === "bigint"
    ? value.toString()
    : value instanceof Uint8Array
      ? `${value.length} bytes`
      : value;
}

function fieldValue(message: ReflectMessage, field: DescField): unknown {
  const value: unknown = message.get(field);
  if (!isSecret(field)) {
    if (field.fieldKind === "list") return [...(value as Iterable<unknown>)].map(plain);
    if (field.fieldKind === "map") {
      return Object.fromEntries(
        [...(value as Iterable<[unknown, unknown]>)].map(([key, item]) => [String(key), plain(item)]),
      );
    }
    return plain(value);
  }
  // The keys of a secret map show what was given; only the values are secret.
  if (field.fieldKind !== "map") return REDACTED;
  return Object.fromEntries(
    [...(value as Iterable<[unknown, unknown]>)].map(([key]) => [String(key), REDACTED]),
  );
}

function loggable(message: ReflectMessage): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const field of message.desc.fields) {
    if (message.isSet(field)) out[field.name] = fieldValue(message, field);
  }
  return out;
}

/** A message as plain data for a log: secrets replaced at every depth, unknown fields left out, int64 as strings. */
export function redact(desc: DescMessage, message: Message): Record<string, unknown> {
  return loggable(reflect(desc, message));
}
