import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import type { Random } from "./random.ts";
import { anyNumber, anySize, anyText, type Known, textFor } from "./values.ts";

/** Nesting that CSI's messages never reach; ends recursion in messages that contain themselves. */
const MAX_DEPTH = 6;

/** A random message that is right on the wire, and right often enough to reach a handler. */
export function randomMessage(desc: DescMessage, known: Known, random: Random, depth = 0): Message {
  return create(desc, randomInit(desc, known, random, depth));
}

function randomInit(desc: DescMessage, known: Known, random: Random, depth: number): Record<string, unknown> {
  const init: Record<string, unknown> = {};
  for (const oneof of desc.oneofs) {
    const [first, ...rest] = oneof.fields;
    if (first === undefined || random.chance(0.1)) continue;
    const field = random.pick([first, ...rest]);
    init[oneof.localName] = { case: field.localName, value: single(field, known, random, depth) };
  }
  for (const field of desc.fields) {
    if (field.oneof !== undefined || random.chance(0.15)) continue;
    init[field.localName] = value(field, known, random, depth);
  }
  return init;
}

function value(field: DescField, known: Known, random: Random, depth: number): unknown {
  const most = depth === 0 ? 200 : 3; // long lists inside of long lists would take for ever
  if (field.fieldKind === "list") return times(random, most, () => single(field, known, random, depth));
  if (field.fieldKind !== "map") return single(field, known, random, depth);
  return Object.fromEntries(times(random, most, () => [anyText(random), anyText(random)]));
}

function times<T>(random: Random, most: number, make: () => T): T[] {
  const length = random.below((random.chance(0.02) ? most : 3) + 1);
  return Array.from({ length }, make);
}

/** Wrapped numbers and booleans, such as the answer of Probe, are their plain value in TypeScript. */
const WRAPPER = /^google\.protobuf\.\w+Value$/;

function single(field: DescField, known: Known, random: Random, depth: number): unknown {
  if (field.message !== undefined) {
    const [wrapped] = field.message.fields;
    if (wrapped !== undefined && WRAPPER.test(field.message.typeName)) {
      return single(wrapped, known, random, depth);
    }
    return depth < MAX_DEPTH ? randomInit(field.message, known, random, depth + 1) : {};
  }
  if (field.enum !== undefined) {
    return random.chance(0.1) ? random.below(1000) : random.below(field.enum.values.length);
  }
  switch (field.scalar) {
    case ScalarType.BOOL:
      return random.chance(0.5);
    case ScalarType.INT64:
      return anySize(random);
    case ScalarType.INT32:
      return anyNumber(random);
    case ScalarType.BYTES:
      return random.bytes(random.below(20));
    default:
      return textFor(field, known, random);
  }
}
