import assert from "node:assert/strict";
import { StatusError, type UnstructuredObject } from "@mooring/store";
import type { KindSchema } from "../../schema/strategy.ts";
import { builtinKinds } from "../register.ts";

/** A built-in kind, as objects of it are admitted. */
export function kindOf(name: string): KindSchema {
  const found = builtinKinds.find((kind) => kind.resource.kind === name);
  assert.ok(found, name);
  const { group, version, kind } = found.resource;
  return {
    group,
    version,
    kind,
    schema: found.schema,
    custom: false,
    hasStatus: found.hasStatus === true,
    ...(found.rules && { rules: found.rules }),
  };
}
/** An object of it, named `x`. */
export function object(kind: KindSchema, fields: Record<string, unknown>): UnstructuredObject {
  const apiVersion = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
  return { apiVersion, kind: kind.kind, metadata: { name: "x" }, ...structuredClone(fields) };
}
/** The message of the refusal; empty when there is none. */
export function failure(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return error.message;
  }
  return "";
}
