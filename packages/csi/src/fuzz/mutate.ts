import type { Random } from "./random.ts";

/** Damages encoded bytes; what comes out need not be a message any more. */
export type Mutation = (bytes: Buffer, random: Random) => Buffer;

/** A field's tag: its number and its wire type. */
const tag = (field: number, wireType: number): Buffer => varint((field << 3) | wireType);

function varint(value: number): Buffer {
  const out: number[] = [];
  let rest = value >>> 0;
  for (; rest > 127; rest >>>= 7) out.push((rest & 127) | 128);
  return Buffer.from([...out, rest]);
}

function lengthPrefixed(field: number, content: Buffer): Buffer {
  return Buffer.concat([tag(field, 2), varint(content.length), content]);
}

const anyField = (random: Random): number => 1 + random.below(8);

/** Ways to damage a request, by name. */
export const MUTATIONS: Readonly<Record<string, Mutation>> = {
  none: (bytes) => bytes,
  flipBit(bytes, random) {
    const out = Buffer.from(bytes);
    const at = random.below(Math.max(1, out.length));
    if (out.length > 0) out[at] = (out[at] ?? 0) ^ (1 << random.below(8));
    return out;
  },
  truncate: (bytes, random) => bytes.subarray(0, random.below(bytes.length + 1)),
  repeat: (bytes) => Buffer.concat([bytes, bytes]),
  insertNoise(bytes, random) {
    const at = random.below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), random.bytes(1 + random.below(16)), bytes.subarray(at)]);
  },
  noise: (_, random) => random.bytes(random.below(200)),
  wrongWireType: (bytes, random) =>
    Buffer.concat([bytes, tag(anyField(random), random.pick([0, 1, 3, 4, 5, 6, 7])), random.bytes(9)]),
  unknownField: (bytes, random) =>
    Buffer.concat([bytes, lengthPrefixed(1000 + random.below(1000), random.bytes(random.below(50)))]),
  badUtf8: (bytes, random) =>
    Buffer.concat([bytes, lengthPrefixed(anyField(random), Buffer.from([0xff, 0xc0, 0x80, 0xed, 0xa0]))]),
  lengthBeyondEnd: (bytes, random) =>
    Buffer.concat([bytes, tag(anyField(random), 2), varint(0x7fffffff), random.bytes(3)]),
  endlessVarint: (bytes, random) => Buffer.concat([bytes, tag(anyField(random), 0), Buffer.alloc(11, 0xff)]),
  hugeField: (bytes, random) =>
    Buffer.concat([
      bytes,
      lengthPrefixed(anyField(random), Buffer.alloc(64 * 1024 * (1 + random.below(8)), 120)),
    ]),
  deepNesting(bytes, random) {
    let inner: Buffer = Buffer.alloc(0);
    for (let depth = 0; depth < 200; depth += 1) inner = lengthPrefixed(anyField(random), inner);
    return Buffer.concat([bytes, inner]);
  },
  unclosedGroup: (bytes, random) =>
    Buffer.concat([bytes, ...Array.from({ length: 150 }, () => tag(anyField(random), 3))]),
};
