import type { Schema } from "./model.ts";

/**
 * Types of built-in kinds are written as text, one field a line:
 *
 *     type ContainerPort "A port that a container listens on."
 *       containerPort!: int32 min(1) max(65535) -- Number of the port.
 *       protocol: string =TCP enum(TCP,UDP,SCTP)
 *     type Container ...
 *       ports: []ContainerPort map(containerPort,protocol) merge(containerPort) -- Ports to expose.
 *
 * `!` means required, `[]T` a list, `{}T` a map from string to T, `=x` a default (JSON or a bare string). After a list:
 * `map(keys)`, `set` (default: atomic); `merge(key)` or `merge` is the strategic merge key. `atomic` after a struct or
 * map makes it one value for server-side apply. `retain` marks unions that strategic merge replaces by kind.
 */
export class TypeTable {
  readonly #types = new Map<string, Schema>();
  readonly #prefix: string;
  readonly #parents: readonly TypeTable[];

  /** `prefix` begins the published names of these types: `io.k8s.api.core.v1`. */
  constructor(prefix: string, text: string, parents: readonly TypeTable[] = []) {
    this.#prefix = prefix;
    this.#parents = parents;
    const blocks = text.split(/^type /m).slice(1);
    for (const block of blocks) this.#declare(block);
    for (const block of blocks) this.#fill(block);
  }

  /** The schema of a type declared here or in a parent table. */
  get(name: string): Schema {
    const found = this.#find(name);
    if (found === undefined) throw new Error(`unknown type ${name} in ${this.#prefix}`);
    return found;
  }

  #find(name: string): Schema | undefined {
    const own = this.#types.get(name) ?? SCALARS[name];
    if (own !== undefined) return own;
    for (const parent of this.#parents) {
      const found = parent.#find(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #declare(block: string): void {
    const match = /^(\w+)( open)?(?: "(.*)")?\n/.exec(block);
    if (match === null) throw new Error(`bad type header: ${block.slice(0, 60)}`);
    const [, name = "", open, description = ""] = match;
    this.#types.set(name, {
      type: "object",
      description,
      typeDescription: description,
      properties: {},
      required: [],
      typeName: `${this.#prefix}.${name}`,
      ...(open === undefined ? {} : { "x-kubernetes-preserve-unknown-fields": true }),
    });
  }

  #fill(block: string): void {
    const [header = "", ...lines] = block.split("\n");
    const schema = this.get(/^\w+/.exec(header)?.[0] ?? "");
    for (const line of lines) {
      if (line.trim() === "" || line.trim().startsWith("#")) continue;
      const [code = "", description] = line.split(" -- ");
      const match = /^\s+([$\w-]+)(!?): (\S+)(.*)$/.exec(code);
      if (match === null) throw new Error(`bad field: ${line}`);
      const [, field = "", bang, type = "", options = ""] = match;
      if (bang === "!") schema.required?.push(field);
      (schema.properties ?? {})[field] = withOptions(this.#resolve(type), options.trim(), description);
    }
    if (schema.required?.length === 0) delete schema.required;
  }

  #resolve(type: string): Schema {
    if (type.startsWith("[]")) {
      return { type: "array", items: this.#resolve(type.slice(2)), "x-kubernetes-list-type": "atomic" };
    }
    if (type.startsWith("{}")) return { type: "object", additionalProperties: this.#resolve(type.slice(2)) };
    // Fields describe what they are for; what the type is, stands once, at the type.
    const { description: _description, ...schema } = this.get(type);
    return schema;
  }
}

const META = "io.k8s.apimachinery.pkg";
const SCALARS: Readonly<Record<string, Schema>> = {
  string: { type: "string" },
  bool: { type: "boolean" },
  int32: { type: "integer", format: "int32" },
  int64: { type: "integer", format: "int64" },
  double: { type: "number", format: "double" },
  bytes: { type: "string", format: "byte" },
  any: { "x-kubernetes-preserve-unknown-fields": true },
  object: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  intOrString: { "x-kubernetes-int-or-string": true, typeName: `${META}.util.intstr.IntOrString` },
  quantity: { type: "string", format: "quantity", typeName: `${META}.api.resource.Quantity` },
  time: { type: "string", format: "date-time", typeName: `${META}.apis.meta.v1.Time` },
  microTime: { type: "string", format: "micro-time", typeName: `${META}.apis.meta.v1.MicroTime` },
};

function withOptions(schema: Schema, options: string, description: string | undefined): Schema {
  if (description !== undefined) schema.description = description;
  for (const option of options.match(/=(?:\{.*?\}|\[.*?\]|\S+)|\w+(?:\([^)]*\))?/g) ?? []) {
    const argument = /\((.*)\)/.exec(option)?.[1];
    const apply = OPTIONS[option.startsWith("=") ? "=" : (/^\w+/.exec(option)?.[0] ?? "")];
    if (apply === undefined) throw new Error(`unknown option ${option}`);
    apply(schema, option.startsWith("=") ? option.slice(1) : (argument ?? ""));
  }
  return schema;
}

const OPTIONS: Readonly<Record<string, (schema: Schema, argument: string) => void>> = {
  "=": (s, text) => {
    s.default = /^[-\d{["]|^(true|false)$/.test(text) ? JSON.parse(text) : text;
  },
  enum: (s, text) => {
    s.enum = text.split(",");
  },
  min: (s, text) => {
    s.minimum = Number(text);
  },
  max: (s, text) => {
    s.maximum = Number(text);
  },
  map: (s, text) => {
    s["x-kubernetes-list-type"] = "map";
    s["x-kubernetes-list-map-keys"] = text.split(",");
  },
  set: (s) => {
    s["x-kubernetes-list-type"] = "set";
  },
  atomic: (s) => {
    if (s.type === "array") s["x-kubernetes-list-type"] = "atomic";
    else s["x-kubernetes-map-type"] = "atomic";
  },
  merge: (s, key) => {
    s["x-kubernetes-patch-strategy"] =
      s["x-kubernetes-patch-strategy"] === "retainKeys" ? "merge,retainKeys" : "merge";
    if (key !== "") s["x-kubernetes-patch-merge-key"] = key;
  },
  retain: (s) => {
    s["x-kubernetes-patch-strategy"] =
      s["x-kubernetes-patch-strategy"] === "merge" ? "merge,retainKeys" : "retainKeys";
  },
};
