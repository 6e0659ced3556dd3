import { apiVersionOf, badRequest, type UnstructuredObject } from "@mooring/store";
import { type Body, readBody } from "../http/body.ts";
import { type Call, warn } from "../http/call.ts";
import type { FieldValidation } from "./options.ts";
import type { Target } from "./target.ts";

/** What the body of a request must be. */
export interface Expected {
  apiVersion: string;
  kind: string;
  /** Kinds that Kubernetes compiles in may leave apiVersion and kind out. */
  defaulted: boolean;
}

/** What an object that comes to this path must be. */
export function expectedOf(target: Target): Expected {
  return {
    apiVersion: apiVersionOf(target.resource),
    kind: target.resource.kind,
    defaulted: !target.kind.custom,
  };
}

/** Reads the body as an object of the target's kind, name and namespace filled in from the path. */
export async function readObject(
  call: Call,
  target: Target,
  validation: FieldValidation,
  expected: Expected = expectedOf(target),
): Promise<UnstructuredObject> {
  const body = await readBody(call);
  if (body === undefined) throw badRequest("unable to decode an empty request body");
  const object = asObject(body.value, expected);
  if (expected.kind === target.resource.kind) validateFields(call, target, object, { body, validation });
  return placed(object, target);
}

/** Checks apiVersion and kind; throws BadRequest with Kubernetes' message. */
export function asObject(value: unknown, expected: Expected): UnstructuredObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badRequest(`the object provided is unrecognized (must be of type ${expected.kind}): not an object`);
  }
  const fields = value as Record<string, unknown>;
  const { apiVersion, kind } = fields;
  // A client in Go writes null for what it has not filled in.
  const metadata = fields.metadata ?? {};
  if (!expected.defaulted && (kind === undefined || kind === "")) {
    throw badRequest(`Object 'Kind' is missing in '${excerpt(value)}'`);
  }
  if (!expected.defaulted && (apiVersion === undefined || apiVersion === "")) {
    throw badRequest(`Object 'apiVersion' is missing in '${excerpt(value)}'`);
  }
  const actualVersion = apiVersion || expected.apiVersion;
  const actualKind = kind || expected.kind;
  if (actualVersion !== expected.apiVersion) {
    throw badRequest(
      `the API version in the data (${String(actualVersion)}) does not match the expected API version (${expected.apiVersion})`,
    );
  }
  if (actualKind !== expected.kind) {
    throw badRequest(
      `${String(actualKind)} in version "${versionPart(expected)}" cannot be handled as a ${expected.kind}: no kind "${String(actualKind)}" is expected here`,
    );
  }
  checkMetadata(metadata, expected);
  return { ...fields, apiVersion: expected.apiVersion, kind: expected.kind, metadata } as UnstructuredObject;
}

const TEXT = ["name", "namespace", "generateName", "uid", "resourceVersion"] as const;

/** What the store relies on before any schema has validated the object. */
function checkMetadata(metadata: unknown, expected: Expected): void {
  const refuse = (what: string) =>
    badRequest(
      `${expected.kind} in version "${versionPart(expected)}" cannot be handled as a ${expected.kind}: json: cannot unmarshal ${what}`,
    );
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) {
    throw refuse("metadata into an object");
  }
  const fields = metadata as Record<string, unknown>;
  for (const name of TEXT) {
    if (fields[name] === null) delete fields[name];
    const value = fields[name];
    if (value !== undefined && typeof value !== "string") throw refuse(`metadata.${name} into a string`);
  }
  for (const name of ["labels", "annotations"]) {
    if (fields[name] === null) delete fields[name];
    if (!isTextMap(fields[name])) throw refuse(`metadata.${name} into a map of strings`);
  }
  for (const name of ["finalizers", "ownerReferences", "managedFields"]) {
    if (fields[name] === null) delete fields[name];
    if (fields[name] !== undefined && !Array.isArray(fields[name]))
      throw refuse(`metadata.${name} into a list`);
  }
}

function isTextMap(value: unknown): boolean {
  if (value === undefined) return true;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((item) => typeof item === "string");
}

/** Name and namespace of the path win where the body is silent and must agree where it is not. */
export function placed(object: UnstructuredObject, target: Target): UnstructuredObject {
  const { metadata } = object;
  if (target.namespace !== undefined) {
    if (
      metadata.namespace !== undefined &&
      metadata.namespace !== "" &&
      metadata.namespace !== target.namespace
    ) {
      throw badRequest(
        "the namespace of the provided object does not match the namespace sent on the request",
      );
    }
    metadata.namespace = target.namespace;
  } else if (!target.kind.resource.namespaced) {
    delete metadata.namespace;
  }
  if (target.name === undefined) return object;
  if (metadata.name !== undefined && metadata.name !== "" && metadata.name !== target.name) {
    throw badRequest(
      `the name of the object (${metadata.name}) does not match the name on the URL (${target.name})`,
    );
  }
  metadata.name = target.name;
  return object;
}

/** Unknown and repeated fields: silence, a Warning header each, or BadRequest. */
export function validateFields(
  call: Call,
  target: Target,
  object: Record<string, unknown>,
  { body, validation }: { body: Pick<Body, "duplicates">; validation: FieldValidation },
): void {
  if (validation === "Ignore") return;
  const unknown = target.kind.unknownFields?.(object, target.version) ?? [];
  const problems = [...body.duplicates, ...unknown.map((path) => `unknown field "${path}"`)];
  if (problems.length === 0) return;
  if (validation === "Warn") {
    for (const problem of problems) warn(call, problem);
    return;
  }
  const { kind, version } = target.resource;
  throw badRequest(
    `${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${problems.join(", ")}`,
  );
}

const versionPart = ({ apiVersion }: Expected) => apiVersion.split("/").at(-1) ?? apiVersion;
const excerpt = (value: object) => JSON.stringify(value).slice(0, 200);
