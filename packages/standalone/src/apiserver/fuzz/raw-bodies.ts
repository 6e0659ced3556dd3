import type { Random } from "@mooring/store/testing";

/** Bodies that are hostile as bytes, before the server asks what they mean. */
const RAW: readonly ((random: Random) => string | Buffer)[] = [
  () => "",
  (random) => "{".repeat(random.below(3_000)),
  (random) => "[".repeat(random.below(random.chance(0.05) ? 300_000 : 2_000)),
  (random) => `${'{"spec":'.repeat(900 + random.below(200))}1${"}".repeat(990)}`,
  (random) =>
    `${'{"a":'.repeat(990)}{${'"b":1,'.repeat(random.below(random.chance(0.1) ? 90_000 : 2_000))}"b":1}${"}".repeat(990)}`,
  (random) => Buffer.from(Array.from({ length: random.below(300) }, () => random.below(256))),
  (random) =>
    Buffer.concat([
      Buffer.from('{"metadata":{"name":"'),
      Buffer.from([0xc3, 0x28, random.below(256)]),
      Buffer.from('"}}'),
    ]),
  () => '\ufeff{"metadata":{"name":"a"}}',
  () => '{"metadata":{"name":"a"}}{"metadata":{"name":"b"}}',
  () => '{"metadata":{"name":"\\ud800\\u0000"}}',
  () => `{"metadata":{"name":"a","generation":${"9".repeat(400)}},"spec":{"replicas":1e999,"port":-0}}`,
  () => '{"metadata":{"name":"a","name":"b"},"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}',
  (random) => `{"metadata":{"name":"a"},"data":{${'"a":"1",'.repeat(random.below(3_000))}"a":"1"}}`,
  (random) =>
    `{"metadata":{"name":"a"},"data":{"a":"${"x".repeat(random.below(random.chance(0.02) ? 2_900_000 : 60_000))}"}}`,
  (random) =>
    `{"metadata":{"name":"a"},"data":{${Array.from({ length: random.below(3_800) }, (_, at) => `"k${at}":"v"`).join(",")}}}`,
  (random) =>
    `{"metadata":{"name":"a","labels":{${Array.from({ length: random.below(3_800) }, (_, at) => `"k${at}":1`).join(",")}}}}`,
  (random) => `{"metadata":{"name":"a","finalizers":[${'"a/b",'.repeat(random.below(3_500))}"a/b"]}}`,
];

const YAML: readonly ((random: Random) => string)[] = [
  (random) => `a: &a [*a]\nb: {<<: *a}\n- !!js ${"x".repeat(random.below(100))}`,
  (random) =>
    `a0: &a0 [x]\n${Array.from({ length: random.below(12) }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at},`.repeat(9)}*a${at}]`).join("\n")}`,
  () => "apiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: a, labels: {<<: *m}}\n",
  (random) =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n${Array.from({ length: random.below(random.chance(0.05) ? 3_000 : 100) }, (_, at) => `  k${at}: "${at}"`).join("\n")}`,
  () => "metadata:\n  name: !!binary aGVsbG8=\n  creationTimestamp: 2026-01-01\n",
  () => "? {a: 1}\n: b\n? [c]\n: d\n",
  () => "{metadata: {name: a}, x: .inf, y: .nan, z: 0o17, w: 1_000, v: ~}",
  () => "---\na: 1\n---\nb: 2\n...\n",
  (random) =>
    `a:\n${Array.from({ length: random.below(1_200) }, (_, at) => `${" ".repeat(at + 1)}a:`).join("\n")}`,
  () => "%TAG ! tag:example.org,2026:\n--- !x\na: !!set {b, c}\n",
  () => "\t- a\n \t: b",
];

/** Bytes that are no JSON, or hardly. */
export const rawBody = (random: Random): string | Buffer => random.one(RAW)(random);
/** YAML that is deep, cyclic, long, or no object. */
export const yamlBody = (random: Random): string => random.one(YAML)(random);
