import assert from "node:assert/strict";
import { test } from "node:test";
import { isStatus } from "@mooring/store";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { builtinKinds } from "../../builtin/index.ts";
import type { Schema } from "../../schema/model.ts";
import { decodeProtobuf } from "./envelope.ts";
import { MESSAGES } from "./messages.ts";
import { SCALARS } from "./scalars.ts";

// What typed clients send, put together by hand from the wire format.
const field = (number: number, bytes: Buffer) =>
  Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
const text = (number: number, value: string) => field(number, Buffer.from(value));
const envelope = (apiVersion: string, kind: string, raw: Buffer) =>
  Buffer.concat([
    Buffer.from("k8s\0"),
    field(1, Buffer.concat([text(1, apiVersion), text(2, kind)])),
    field(2, raw),
  ]);

test("a config map comes out as its JSON", () => {
  const metadata = Buffer.concat([text(1, "name"), text(2, ""), text(3, "ns"), field(8, Buffer.alloc(0))]);
  const entry = Buffer.concat([text(1, "key"), text(2, "value")]);
  const raw = Buffer.concat([field(1, metadata), field(2, entry), field(2, text(1, "empty"))]);
  assert.deepEqual(decodeProtobuf(envelope("v1", "ConfigMap", raw)), {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "name", namespace: "ns" },
    data: { key: "value", empty: "" },
  });
});

test("times, quantities, booleans and numbers keep their meaning", () => {
  const renew = Buffer.from([0x08, 0x80, 0xe2, 0xcf, 0xaa, 0x06, 0x10, 0xe8, 0x07]);
  const spec = Buffer.concat([
    text(1, "holder"),
    Buffer.from([0x10, 0x0f]),
    field(4, renew),
    Buffer.from([0x28, 0]),
  ]);
  assert.deepEqual(decodeProtobuf(envelope("coordination.k8s.io/v1", "Lease", field(2, spec))).spec, {
    holderIdentity: "holder",
    leaseDurationSeconds: 15,
    renewTime: "2023-11-14T22:13:20.000001Z",
    leaseTransitions: 0,
  });
});

test("kinds without protobuf are refused in favour of JSON", () => {
  assert.throws(
    () => decodeProtobuf(envelope("example.com/v1", "Thing", Buffer.alloc(0))),
    (error) => isStatus(error, "UnsupportedMediaType"),
  );
});

test("every type that a field names exists", () => {
  for (const [message, fields] of Object.entries(MESSAGES)) {
    for (const line of fields.split(",").filter((each) => each !== "")) {
      const type = (line.split(" ")[2] ?? "").replace(/^(\[\]|\{\})/, "");
      assert.ok(Object.hasOwn(MESSAGES, type) || Object.hasOwn(SCALARS, type), `${message}: ${line}`);
    }
  }
});

/** The fields of a message with their types, and those of messages that are written into it. */
function fieldsOf(message: string): Map<string, string> {
  const lines = (MESSAGES[message] ?? "").split(",").map((line) => line.split(" "));
  return new Map(
    lines.flatMap(([, name = "", type = ""]): [string, string][] =>
      name === "~" ? [...fieldsOf(type)] : [[name.replace(/\?$/, ""), type.replace(/^(\[\]|\{\})/, "")]],
    ),
  );
}

test("every field that a built-in kind has is read from protobuf too", () => {
  const missing = new Set<string>();
  const seen = new Set<string>();
  const visit = (schema: Schema, message: string): void => {
    if (seen.has(message)) return;
    seen.add(message);
    const fields = fieldsOf(message);
    for (const [field, child] of Object.entries(schema.properties ?? {})) {
      const type = fields.get(field);
      if (type === undefined) missing.add(`${message}.${field}`);
      else if (Object.hasOwn(MESSAGES, type)) {
        const { items, additionalProperties } = child;
        visit(items ?? (typeof additionalProperties === "object" ? additionalProperties : child), type);
      }
    }
  };
  const checked = builtinKinds.filter(({ resource: { group, kind } }) => {
    const message = `${group.split(".", 1)[0] || "core"}.${kind}`;
    return Object.hasOwn(MESSAGES, message);
  });
  for (const { resource, schema } of checked) {
    const { apiVersion: _apiVersion, kind: _kind, ...properties } = schema.properties ?? {};
    visit({ ...schema, properties }, `${resource.group.split(".", 1)[0] || "core"}.${resource.kind}`);
  }
  assert.ok(checked.length > 20);
  assert.deepEqual([...missing].sort(), []);
});

test("bytes that are no object are refused, whatever they are", () => {
  const kinds = fc.constantFrom("Pod", "Secret", "PersistentVolume", "Node");
  fc.assert(
    fc.property(kinds, fc.uint8Array({ maxLength: 120 }), (kind, bytes) => {
      try {
        decodeProtobuf(envelope("v1", kind, Buffer.from(bytes)));
      } catch (error) {
        assert.ok(isStatus(error, "BadRequest"), String(error));
      }
    }),
    { numRuns: howMany({ everyday: 5_000, deep: 50_000 }) },
  );
});
