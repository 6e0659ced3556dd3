/** Random numbers that a seed repeats (mulberry32). */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  of<T>(list: readonly T[]): T {
    const found = list[this.below(list.length)];
    if (found === undefined) throw new Error("nothing to choose from");
    return found;
  }

  chance(part: number): boolean {
    return this.next() < part;
  }
}

/** One request as it goes over the wire. */
export interface FuzzRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | Buffer;
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const TYPES = [
  "application/json",
  "application/json",
  "application/yaml",
  "application/merge-patch+json",
  "application/json-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
  "application/vnd.kubernetes.protobuf",
  "__proto__",
  "constructor",
  "text/plain",
  "application/json; charset=utf-8",
];
const NAMES = [
  "a",
  "b",
  "default",
  "__proto__",
  "constructor",
  "..",
  "%2e%2e",
  "%00",
  "A_b",
  "x".repeat(300),
  "%zz",
  "é",
];
const SUBRESOURCES = [
  "status",
  "scale",
  "log",
  "token",
  "binding",
  "eviction",
  "finalize",
  "exec",
  "nothing",
];
const QUERY = [
  "dryRun=All",
  "dryRun=No",
  "fieldManager=f",
  `fieldManager=${"x".repeat(200)}`,
  "force=true",
  "fieldValidation=Strict",
  "fieldValidation=x",
  "labelSelector=a%3D%3D",
  "labelSelector=a+in+(",
  "labelSelector=%21%21a",
  "fieldSelector=metadata.name%3Da",
  "fieldSelector=x%3D%3D%3D",
  "limit=1",
  "limit=-1",
  "limit=1e300",
  "continue=%22%7B",
  "resourceVersion=abc",
  "resourceVersion=99999999999999999999",
  "resourceVersionMatch=Exact",
  "gracePeriodSeconds=99999999999",
  "propagationPolicy=x",
  "timeoutSeconds=0",
];
const ACCEPTS = [
  "application/json",
  "application/yaml",
  "application/json;as=Table;g=meta.k8s.io;v=v1",
  "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
  "__proto__",
  ";;;q=",
  "*/*;q=1e999",
];
const HEADERS: readonly (readonly [string, string])[] = [
  ["impersonate-user", "somebody"],
  ["impersonate-group", "g"],
  ["impersonate-uid", "1"],
  ["impersonate-extra-%zz", "v"],
  ["impersonate-extra-__proto__", "v"],
  ["authorization", "Bearer a.b.c"],
  ["authorization", "Bearer ey.ey.ey"],
  ["accept-encoding", "gzip"],
  ["user-agent", "\u00ff/1"],
];

/** Makes requests for these collections (`/api/v1/namespaces/default/pods`, ...) and kinds, most of them wrong somewhere. */
export class Requests {
  readonly #dice: Dice;
  readonly #collections: readonly {
    path: string;
    apiVersion: string;
    kind: string;
    fields: readonly string[];
  }[];

  constructor(seed: number, collections: Requests["collections"]) {
    this.#dice = new Dice(seed);
    this.#collections = collections;
  }

  get collections(): readonly {
    path: string;
    apiVersion: string;
    kind: string;
    fields: readonly string[];
  }[] {
    return this.#collections;
  }

  next(): FuzzRequest {
    const dice = this.#dice;
    const target = dice.of(this.#collections);
    const method = dice.of(METHODS);
    let path = target.path;
    if (dice.chance(0.6)) path += `/${dice.of(NAMES)}`;
    if (dice.chance(0.2)) path += `/${dice.of(SUBRESOURCES)}`;
    const query = Array.from({ length: dice.below(3) }, () => dice.of(QUERY));
    // Everything is tried and hardly anything is kept: what a run leaves would slow the rest of it down.
    if (!query.includes("dryRun=No") && dice.chance(0.8)) query.push("dryRun=All");
    const headers: Record<string, string> = { accept: dice.of(ACCEPTS) };
    if (dice.chance(0.15)) {
      const [name, value] = dice.of(HEADERS);
      headers[name] = value;
    }
    const request: FuzzRequest = { method, path: `${path}?${query.join("&")}`, headers };
    if (method === "GET" || method === "HEAD") return request;
    headers["content-type"] = dice.of(TYPES);
    return { ...request, body: this.#body(target) };
  }

  #body(target: { apiVersion: string; kind: string; fields: readonly string[] }): string | Buffer {
    const dice = this.#dice;
    const kind = dice.below(20);
    if (kind === 0) return "";
    if (kind === 1) return "{".repeat(dice.below(3_000));
    if (kind === 2) return `${'{"spec":'.repeat(900)}1${"}".repeat(900)}`;
    if (kind === 3) return Buffer.from(Array.from({ length: dice.below(300) }, () => dice.below(256)));
    if (kind === 4) return `a: &a [*a]\nb: {<<: *a}\n- !!js ${"x".repeat(dice.below(100))}`;
    if (kind === 5) return JSON.stringify(this.#value(4));
    if (kind === 6)
      return `{"metadata":{"name":"a","name":"b"},"spec":{${'"a":1,'.repeat(dice.below(2_000))}"a":1}}`;
    if (kind === 7)
      return JSON.stringify([
        { op: dice.of(["add", "test", "move", "x"]), path: "/spec/__proto__", value: this.#value(2) },
      ]);
    const body: Record<string, unknown> = {
      apiVersion: dice.chance(0.95) ? target.apiVersion : this.#value(1),
      kind: dice.chance(0.95) ? target.kind : this.#value(1),
      metadata: dice.chance(0.9) ? this.#metadata() : this.#value(2),
    };
    for (let count = dice.below(5); count > 0; count--) body[dice.of(target.fields)] = this.#value(5);
    return JSON.stringify(body);
  }

  #metadata(): Record<string, unknown> {
    const dice = this.#dice;
    const metadata: Record<string, unknown> = { name: dice.of(["a", "b", "c", dice.of(NAMES)]) };
    const fields = [
      "labels",
      "annotations",
      "finalizers",
      "ownerReferences",
      "managedFields",
      "uid",
      "generateName",
    ];
    if (dice.chance(0.3)) metadata[dice.of(fields)] = this.#value(3);
    return metadata;
  }

  #value(depth: number): unknown {
    const dice = this.#dice;
    const kind = dice.below(depth > 0 ? 14 : 9);
    switch (kind) {
      case 0:
        return null;
      case 1:
        return dice.chance(0.5);
      case 2:
        return dice.of([0, -1, 1, 2 ** 31, 2 ** 53, 1e300, -1e300, 0.5]);
      case 3:
        return "x".repeat(dice.below(2_000));
      case 4:
        return dice.of([
          "",
          "1Gi",
          "1e999",
          "-5",
          "2026-01-01T00:00:00Z",
          "\u0000",
          "../..",
          "ReadWriteOnce",
        ]);
      case 5:
        return {};
      case 6:
        return [];
      case 7:
        return dice.of(["__proto__", "constructor", "toString"]);
      case 8:
        return "a";
      case 9:
      case 10:
        return Array.from({ length: dice.below(6) }, () => this.#value(depth - 1));
      default:
        return Object.fromEntries(
          Array.from({ length: dice.below(6) }, () => [this.#field(), this.#value(depth - 1)]),
        );
    }
  }

  #field(): string {
    const { fields } = this.#dice.of(this.#collections);
    return this.#dice.chance(0.9)
      ? this.#dice.of(fields)
      : this.#dice.of(["__proto__", "constructor", "", "a.b", "é"]);
  }
}
