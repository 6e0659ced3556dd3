import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import type { Random } from "./random.ts";
import {
  anyNumber,
  anySize,
  anyText,
  type Known,
  MOODS,
  type Mood,
  textFor,
  USUAL_NUMBERS,
} from "./values.ts";

/** Nesting that CSI's messages never reach; ends recursion in messages that contain themselves. */
const MAX_DEPTH = 6;

/** Wrapped numbers and booleans, such as the response of Probe, are their plain value in TypeScript. */
const WRAPPER = /^google\.protobuf\.\w+Value$/;

/** What all values of one message share. */
interface Making {
  readonly known: Known;
  readonly mood: Mood;
  readonly random: Random;
}

/** A random message that is right on the wire; most of them are meant to get past a plugin's checks. */
export function randomMessage(desc: DescMessage, known: Known, random: Random): Message {
  return create(desc, randomInit(desc, { known, mood: random.pick(MOODS), random }, 0));
}

function randomInit(desc: DescMessage, making: Making, depth: number): Record<string, unknown> {
  const { random, mood } = making;
  const init: Record<string, unknown> = {};
  for (const oneof of desc.oneofs) {
    const [first, ...rest] = oneof.fields;
    if (first === undefined || random.chance(mood.omit)) continue;
    const field = random.pick([first, ...rest]);
    init[oneof.localName] = { case: field.localName, value: single(field, making, depth) };
  }
  for (const field of desc.fields) {
    if (field.oneof !== undefined || random.chance(isOptional(field) ? mood.omitOptional : mood.omit))
      continue;
    init[field.localName] = value(field, making, depth);
  }
  return init;
}

const OPTIONAL =
  /^(volume_content_source|accessibility_requirements|(mutable_)?parameters|accessible_topology|secrets|mount_flags|volume_mount_group|limit_bytes|.*_context|starting_.*|max_.*)$/;

/** Fields that few requests have, and that make most plugins refuse them when they are random. */
function isOptional({ name }: DescField): boolean {
  return OPTIONAL.test(name);
}

function value(field: DescField, making: Making, depth: number): unknown {
  const { mood, random } = making;
  const most = depth === 0 ? 200 : 3; // long lists inside of long lists would take for ever
  if (field.fieldKind === "list") return times(making, most, () => single(field, making, depth));
  if (field.fieldKind !== "map") return single(field, making, depth);
  return Object.fromEntries(times(making, most, () => [anyText(mood, random), anyText(mood, random)]));
}

function times<T>({ random, mood }: Making, most: number, make: () => T): T[] {
  const least = random.chance(mood.omit) ? 0 : 1;
  const length = least + random.below(random.chance(0.02) ? most : 3);
  return Array.from({ length }, make);
}

function single(field: DescField, making: Making, depth: number): unknown {
  const { known, mood, random } = making;
  if (field.message !== undefined) {
    const [wrapped] = field.message.fields;
    if (wrapped !== undefined && WRAPPER.test(field.message.typeName)) return single(wrapped, making, depth);
    return depth < MAX_DEPTH ? randomInit(field.message, making, depth + 1) : {};
  }
  const usual = USUAL_NUMBERS[field.name];
  if (mood.plain && usual !== undefined) return random.pick(usual);
  if (field.enum !== undefined) {
    return random.chance(mood.strange * 0.2) ? random.below(1000) : random.below(field.enum.values.length);
  }
  switch (field.scalar) {
    case ScalarType.BOOL:
      return random.chance(0.5);
    case ScalarType.INT64:
      return anySize(mood, random);
    case ScalarType.INT32:
      return anyNumber(mood, random);
    case ScalarType.BYTES:
      return random.bytes(random.below(20));
    default:
      return textFor(field, known, mood, random);
  }
}
