import { type DescField, type DescMessage, getOption, type Message } from "@bufbuild/protobuf";
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
import { SPECIAL, type Version } from "./special.ts";

/** What is wrong with a message, as one sentence that begins with the field; undefined when nothing is. */
type Problem = string | undefined;

/** A message as the generated types have it: fields by their names in TypeScript, the fields of a oneof by its name. */
type Values = Readonly<Record<string, unknown>>;
type Oneof = { case: string | undefined; value?: unknown };

/** The rules of one type of message, read once. Messages are many: a list may have thousands. */
interface Plan {
  readonly fields: readonly DescField[];
  readonly secrets: ReadonlySet<DescField>;
  readonly required: readonly { text: string; isSet: (values: Values) => boolean }[];
  readonly special: ((message: Message, caller: Version) => Problem) | undefined;
}

const plans = new Map<DescMessage, Plan>();

function planOf(desc: DescMessage): Plan {
  const known = plans.get(desc);
  if (known !== undefined) return known;
  const required = requiredOf(desc.typeName).map((rule) => {
    const tests = rule.split("|").map((name) => presence(desc, name));
    return {
      text: `${rule.replaceAll("|", " or ")} is required`,
      isSet: (values: Values) => tests.some((test) => test(values)),
    };
  });
  const secrets = new Set(desc.fields.filter((field) => getOption(field, csi_secret)));
  const plan = { fields: desc.fields, secrets, required, special: SPECIAL[desc.typeName] };
  plans.set(desc, plan);
  return plan;
}

/** Whether the field or oneof of that name is set. */
function presence(desc: DescMessage, name: string): (values: Values) => boolean {
  const oneof = desc.oneofs.find((entry) => entry.name === name);
  if (oneof !== undefined)
    return (values) => (values[oneof.localName] as Oneof | undefined)?.case !== undefined;
  const field = desc.fields.find((entry) => entry.name === name);
  return field === undefined ? () => false : (values) => isSet(fieldOf(values, field));
}

function fieldOf(values: Values, field: DescField): unknown {
  if (field.oneof === undefined) return values[field.localName];
  const chosen = values[field.oneof.localName] as Oneof | undefined;
  return chosen?.case === field.localName ? chosen.value : undefined;
}

/** As on the wire: what has its zero value is not there. */
function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value !== "object" || value === null) return Boolean(value);
  return "$typeName" in value || Object.keys(value).length > 0;
}

const size = (text: string): number => Buffer.byteLength(text);

// What follows describes problems as they go on after the name that the caller puts in front: " is negative" of a value,
// ".name is required" of a message. Paths are written only when there is a problem.

function checkString(field: DescField, value: string): Problem {
  const limit = STRING_LIMITS[field.name] ?? MAX_STRING_BYTES;
  if (size(value) > limit) return ` has ${size(value)} bytes, at most ${limit} are allowed`;
  if (NAMES.has(field.name) && BANNED.test(value)) return " contains a control character";
  if (value.includes("\0")) return " contains a NUL character";
  if (ABSOLUTE_PATHS.has(field.name) && !value.startsWith("/")) return " is not an absolute path";
  return undefined;
}

function checkMap(field: DescField, map: Values): Problem {
  const secret = planOf(field.parent).secrets.has(field);
  let bytes = 0;
  for (const [key, value] of Object.entries(map)) {
    if (key === "") return " has an empty key";
    if (secret && !SECRET_KEY.test(key))
      return ` has the key ${JSON.stringify(key)}, only letters, digits, "-", "_" and "." are allowed`;
    bytes += size(key) + (typeof value === "string" ? size(value) : 0);
  }
  return bytes > MAX_MAP_BYTES ? ` has ${bytes} bytes, at most ${MAX_MAP_BYTES} are allowed` : undefined;
}

function checkList(field: DescField, items: readonly unknown[], caller: Version): Problem {
  const total = LIST_LIMITS[field.name];
  if (total !== undefined) {
    const bytes = items.reduce<number>((sum, item) => sum + (typeof item === "string" ? size(item) : 0), 0);
    return bytes > total ? ` has ${bytes} bytes, at most ${total} are allowed` : undefined;
  }
  for (const [index, item] of items.entries()) {
    const problem = item === "" ? " is empty" : checkOne(field, item, caller);
    if (problem !== undefined) return `[${index}]${problem}`;
  }
  return undefined;
}

/** One value that is no list and no map. Wrapped numbers (`google.protobuf.Int64Value`) are plain ones here. */
function checkOne(field: DescField, value: unknown, caller: Version): Problem {
  if (typeof value === "string") return checkString(field, value);
  if (field.message !== undefined && typeof value === "object") {
    const problem = checkMessage(field.message, value as Message, caller);
    return problem === undefined ? undefined : `.${problem}`;
  }
  if (field.enum !== undefined) {
    return field.enum.value[value as number] === undefined
      ? ` is ${String(value)}, which is no ${field.enum.name}`
      : undefined;
  }
  const isNumber = typeof value === "bigint" || typeof value === "number";
  return isNumber && value < 0 && !OFFSETS.has(field.name) ? " is negative" : undefined;
}

function checkField(field: DescField, value: unknown, caller: Version): Problem {
  switch (field.fieldKind) {
    case "map":
      return checkMap(field, value as Values);
    case "list":
      return checkList(field, value as unknown[], caller);
    default:
      return checkOne(field, value, caller);
  }
}

/**
 * Checks a request or a response by the rules that csi.v1 has for all plugins. `caller`: what was spoken, where a message
 * of csi.v1 stands for one of csi.v0, which allows more.
 */
export function checkMessage(desc: DescMessage, message: Message, caller: Version = "csi.v1"): Problem {
  const values = message as unknown as Values;
  const { required, fields, special } = planOf(desc);
  for (const rule of required) {
    if (!rule.isSet(values)) return rule.text;
  }
  for (const field of fields) {
    const value = fieldOf(values, field);
    if (!isSet(value)) continue;
    const problem = checkField(field, value, caller);
    if (problem !== undefined) return field.name + problem;
  }
  return special?.(message, caller);
}
