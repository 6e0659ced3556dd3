import assert from "node:assert/strict";
import { test } from "node:test";
import { ENGINE_KINDS } from "@mooring/engine";
import { explainerOf } from "./kinds.ts";

test("every kind of the engine is explained, by its kind and by its plural", () => {
  const names = ENGINE_KINDS.flatMap(({ kind, plural }) => [kind, plural]);
  assert.deepEqual(
    names.filter((name) => explainerOf(name) === undefined),
    [],
  );
});

test("kinds that programs need beside volumes are explained, too", () => {
  const names = [
    "configmap",
    "secret",
    "serviceaccount",
    "lease",
    "service",
    "endpoints",
    "endpointslice",
    "csistoragecapacity",
    "quota",
    "namespace",
  ];
  assert.deepEqual(
    names.filter((name) => explainerOf(name) === undefined),
    [],
  );
});
