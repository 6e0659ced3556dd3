import { type DescField, type DescMessage, getOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { csi_secret } from "../gen/csi/v1/csi_pb.ts";
import {
  ABSOLUTE_PATHS,
  BANNED,
  LIST_LIMITS,
  MAX_MAP_BYTES,
  MAX_STRING_BYTES,
  NAMES,
  OFFSETS,
  requiredOf,
  SECRET_KEY,
  STRING_LIMITS,
} from "./rules.ts";
import { SPECIAL } from "./special.ts";

/** What is wrong with a request, as one sentence; undefined when nothing is. */
export type Problem = string | undefined;

const size = (text: string): number => Buffer.byteLength(text);

function isSet(message: ReflectMessage, name: string): boolean {
  const oneof = message.desc.oneofs.find((entry) => entry.name === name);
  if (oneof !== undefined) return message.oneofCase(oneof) !== undefined;
  const field = message.desc.fields.find((entry) => entry.name === name);
  return field !== undefined && message.isSet(field);
}

function missing(message: ReflectMessage, path: string): Problem {
  for (const rule of requiredOf(message.desc.typeName)) {
    const names = rule.split("|");
    if (!names.some((name) => isSet(message, name))) return `${path}${names.join(" or ")} is required`;
  }
  return undefined;
}

function checkString(field: DescField, value: string, path: string): Problem {
  const limit = STRING_LIMITS[field.name] ?? MAX_STRING_BYTES;
  if (size(value) > limit) return `${path} has ${size(value)} bytes, at most ${limit} are allowed`;
  if (NAMES.has(field.name) && BANNED.test(value)) return `${path} contains a control character`;
  if (value.includes("\0")) return `${path} contains a NUL character`;
  if (ABSOLUTE_PATHS.has(field.name) && !value.startsWith("/")) return `${path} is not an absolute path`;
  return undefined;
}

function checkMap(field: DescField, entries: Iterable<[unknown, unknown]>, path: string): Problem {
  const secret = getOption(field, csi_secret);
  let bytes = 0;
  for (const [key, value] of entries) {
    if (key === "") return `${path} has an empty key`;
    if (secret && !SECRET_KEY.test(String(key)))
      return `${path} has the key ${JSON.stringify(key)}, only letters, digits, "-", "_" and "." are allowed`;
    bytes += size(String(key)) + (typeof value === "string" ? size(value) : 0);
  }
  return bytes > MAX_MAP_BYTES
    ? `${path} has ${bytes} bytes, at most ${MAX_MAP_BYTES} are allowed`
    : undefined;
}

function checkList(field: DescField, items: unknown[], path: string): Problem {
  const total = LIST_LIMITS[field.name];
  const bytes = items.reduce<number>((sum, item) => sum + (typeof item === "string" ? size(item) : 0), 0);
  if (total !== undefined) {
    return bytes > total ? `${path} has ${bytes} bytes, at most ${total} are allowed` : undefined;
  }
  for (const [index, item] of items.entries()) {
    const at = `${path}[${index}]`;
    const problem = isMessage(item)
      ? checkReflected(item, `${at}.`)
      : typeof item === "string"
        ? item === ""
          ? `${at} is empty`
          : checkString(field, item, at)
        : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isMessage(value: unknown): value is ReflectMessage {
  return typeof value === "object" && value !== null && "desc" in value && "fields" in value;
}

function checkField(message: ReflectMessage, field: DescField, path: string): Problem {
  const at = `${path}${field.name}`;
  const value: unknown = message.get(field);
  switch (field.fieldKind) {
    case "map":
      return checkMap(field, value as Iterable<[unknown, unknown]>, at);
    case "list":
      return checkList(field, [...(value as Iterable<unknown>)], at);
    case "message":
      return isMessage(value) ? checkReflected(value, `${at}.`) : undefined;
    case "scalar":
      if (typeof value === "string") return checkString(field, value, at);
      if (field.scalar === ScalarType.INT64 || field.scalar === ScalarType.INT32) {
        return (value as bigint | number) < 0 && !OFFSETS.has(field.name) ? `${at} is negative` : undefined;
      }
      return undefined;
    case "enum":
      return field.enum.value[value as number] === undefined
        ? `${at} is ${String(value)}, which is no ${field.enum.name}`
        : undefined;
    default:
      return undefined;
  }
}

function checkReflected(message: ReflectMessage, path: string): Problem {
  const first = missing(message, path);
  if (first !== undefined) return first;
  for (const field of message.desc.fields) {
    if (!message.isSet(field)) continue;
    const problem = checkField(message, field, path);
    if (problem !== undefined) return problem;
  }
  return SPECIAL[message.desc.typeName]?.(message.message, path);
}

/** Checks a request by the rules that csi.v1 has for all plugins. */
export function checkMessage(desc: DescMessage, message: Message): Problem {
  return checkReflected(reflect(desc, message), "");
}
