import { ConfigMaps, Secrets, ServiceAccounts, type UnstructuredObject } from "@mooring/store";
import {
  ageColumn,
  type BuiltinKind,
  column,
  digList,
  digObject,
  digText,
} from "../../kinds/builtin-kind.ts";
import { type FieldError, forbidden, invalid, required, tooLong } from "../../schema/field-error.ts";
import { jsonEqual } from "../../schema/model.ts";
import { immutable } from "../immutable.ts";
import { coreTypes } from "../types/core.ts";

const SIZE_LIMIT = 1024 * 1024;
const KEY = /^[-._a-zA-Z0-9]+$/;
const KEY_RULE =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

function keyErrors(object: UnstructuredObject, field: string): FieldError[] {
  return Object.keys(digObject(object, field)).flatMap((key) => {
    if (key.length > 253) return [invalid(`${field}[${key}]`, key, "must be no more than 253 characters")];
    if (key === "." || key === "..") return [invalid(`${field}[${key}]`, key, `must not be '${key}'`)];
    return KEY.test(key) ? [] : [invalid(`${field}[${key}]`, key, KEY_RULE)];
  });
}

function sizeOf(values: Record<string, unknown>): number {
  return Object.values(values).reduce<number>((sum, value) => sum + Buffer.byteLength(String(value)), 0);
}

/** Objects with `immutable: true` keep their data for good. */
function frozenErrors(next: UnstructuredObject, old: UnstructuredObject, ...fields: string[]): FieldError[] {
  if (old.immutable !== true) return [];
  const detail = "field is immutable when `immutable` is set";
  return ["immutable", ...fields]
    .filter((field) => !jsonEqual(next[field] ?? {}, old[field] ?? {}))
    .map((field) => forbidden(field, detail));
}

const configMaps: BuiltinKind = {
  resource: ConfigMaps,
  schema: coreTypes.get("ConfigMap"),
  singular: "configmap",
  shortNames: ["cm"],
  columns: [
    column(
      "Data",
      (cm) => Object.keys(digObject(cm, "data")).length + Object.keys(digObject(cm, "binaryData")).length,
    ),
    ageColumn,
  ],
  rules: {
    validate(cm) {
      const errors = [...keyErrors(cm, "data"), ...keyErrors(cm, "binaryData")];
      for (const key of Object.keys(digObject(cm, "data"))) {
        if (Object.hasOwn(digObject(cm, "binaryData"), key)) {
          errors.push(invalid(`data[${key}]`, key, "duplicate of key present in binaryData"));
        }
      }
      const size = sizeOf(digObject(cm, "data")) + sizeOf(digObject(cm, "binaryData"));
      return size > SIZE_LIMIT ? [...errors, tooLong("", SIZE_LIMIT)] : errors;
    },
    validateUpdate: (next, old) => frozenErrors(next, old, "data", "binaryData"),
  },
};

/** Keys that secrets of a type must have. */
const REQUIRED_KEYS: ReadonlyMap<string, readonly string[]> = new Map([
  ["kubernetes.io/tls", ["tls.crt", "tls.key"]],
  ["kubernetes.io/dockercfg", [".dockercfg"]],
  ["kubernetes.io/dockerconfigjson", [".dockerconfigjson"]],
  ["kubernetes.io/ssh-auth", ["ssh-privatekey"]],
]);

function secretErrors(secret: UnstructuredObject): FieldError[] {
  const data = digObject(secret, "data");
  const errors = keyErrors(secret, "data");
  if (sizeOf(data) * 0.75 > SIZE_LIMIT) errors.push(tooLong("data", SIZE_LIMIT));
  const type = digText(secret, "type");
  for (const key of REQUIRED_KEYS.get(type) ?? [])
    if (data[key] === undefined) errors.push(required(`data[${key}]`));
  if (type === "kubernetes.io/basic-auth" && data.username === undefined && data.password === undefined) {
    errors.push(required("data[username]"), required("data[password]"));
  }
  return errors;
}

const secrets: BuiltinKind = {
  resource: Secrets,
  schema: coreTypes.get("Secret"),
  singular: "secret",
  columns: [
    column("Type", (secret) => digText(secret, "type")),
    column("Data", (secret) => Object.keys(digObject(secret, "data")).length),
    ageColumn,
  ],
  rules: {
    defaults(secret) {
      const texts = digObject(secret, "stringData");
      if (Object.keys(texts).length > 0) {
        const encoded = Object.entries(texts).map(([key, value]) => [
          key,
          Buffer.from(String(value)).toString("base64"),
        ]);
        secret.data = { ...digObject(secret, "data"), ...Object.fromEntries(encoded) };
      }
      delete secret.stringData;
    },
    validate: secretErrors,
    validateUpdate: (next, old) => [...immutable(next, old, "type"), ...frozenErrors(next, old, "data")],
    selectableFields: (secret) => ({ type: digText(secret, "type") }),
  },
};

const serviceAccounts: BuiltinKind = {
  resource: ServiceAccounts,
  schema: coreTypes.get("ServiceAccount"),
  singular: "serviceaccount",
  shortNames: ["sa"],
  columns: [column("Secrets", (sa) => digList(sa, "secrets").length), ageColumn],
};

/** Kinds with which pods are configured. */
export const configKinds: readonly BuiltinKind[] = [configMaps, secrets, serviceAccounts];
