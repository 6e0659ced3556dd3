import { invalid, type ListOptions, type StatusCause, type WriteOptions } from "@mooring/store";
import { type Call, flag } from "../http/call.ts";

/** What becomes of fields that the kind does not have. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

interface RequestWriteOptions extends WriteOptions {
  fieldManager: string;
}

const META = { group: "meta.k8s.io", plural: "" };

function optionsInvalid(kind: string, field: string, reason: string, message: string) {
  const cause: StatusCause = { reason, message, field };
  return invalid({ group: META.group, kind }, "", [cause]);
}

/** `dryRun`, `fieldManager` and the signal; `kind` names the options in errors (CreateOptions, ...). */
export function writeOptions(call: Call, kind: string): RequestWriteOptions {
  const dryRun = dryRunOf(call.query.getAll("dryRun"), kind);
  const manager = call.query.get("fieldManager") ?? "";
  if (manager.length > 128) {
    throw optionsInvalid(
      kind,
      "fieldManager",
      "FieldValueTooLong",
      "Too long: may not be more than 128 bytes",
    );
  }
  // Printable only, as Kubernetes demands.
  if (/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(manager)) {
    throw optionsInvalid(
      kind,
      "fieldManager",
      "FieldValueInvalid",
      "Invalid value: should only contain printable characters",
    );
  }
  return { fieldManager: manager === "" ? managerFromAgent(call) : manager, dryRun };
}

/** As Kubernetes does: the product of the user agent, at most 128 characters. */
function managerFromAgent(call: Call): string {
  const agent = String(call.request.headers["user-agent"] ?? "").split("/", 1)[0] ?? "";
  return agent === "" ? "unknown" : agent.slice(0, 128);
}

/** True for `dryRun=All`; throws BadRequest for anything else that is given. */
export function dryRunOf(values: readonly string[], kind: string): boolean {
  const given = values.filter((value) => value !== "");
  const wrong = given.find((value) => value !== "All");
  if (wrong === undefined) return given.length > 0;
  const message = `Unsupported value: ${JSON.stringify(wrong)}: supported values: "All"`;
  throw optionsInvalid(kind, "dryRun", "FieldValueNotSupported", message);
}

/** `fieldValidation` of the request; `Warn` by default. */
export function fieldValidation(call: Call, kind: string): FieldValidation {
  const value = call.query.get("fieldValidation");
  switch (value) {
    case null:
    case "":
    case "Warn":
      return "Warn";
    case "Ignore":
    case "Strict":
      return value;
    default: {
      const message = `Unsupported value: ${JSON.stringify(value)}: supported values: "Ignore", "Strict", "Warn"`;
      throw optionsInvalid(kind, "fieldValidation", "FieldValueNotSupported", message);
    }
  }
}

/** Selectors, paging and the starting point, checked as Kubernetes checks them. */
export function listOptions(call: Call): ListOptions {
  const { query } = call;
  const text = (name: string) => query.get(name) ?? "";
  const limit = integer(call, "limit");
  const match = text("resourceVersionMatch");
  checkMatch(match, text("resourceVersion"), text("continue"), flag(query, "watch") === true);
  return {
    signal: call.signal,
    ...(limit !== undefined && limit > 0 ? { limit } : {}),
    ...(text("labelSelector") === "" ? {} : { labelSelector: text("labelSelector") }),
    ...(text("fieldSelector") === "" ? {} : { fieldSelector: text("fieldSelector") }),
    ...(text("continue") === "" ? {} : { continue: text("continue") }),
    ...(text("resourceVersion") === "" ? {} : { resourceVersion: text("resourceVersion") }),
    ...(match === "Exact" || match === "NotOlderThan" ? { resourceVersionMatch: match } : {}),
  };
}

function checkMatch(match: string, version: string, token: string, watch: boolean): void {
  const refuse = (message: string, reason = "FieldValueForbidden") =>
    optionsInvalid("ListOptions", "resourceVersionMatch", reason, message);
  if (match === "" || watch) return;
  if (token !== "") throw refuse("Forbidden: resourceVersionMatch is forbidden when continue is provided");
  if (version === "")
    throw refuse("Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided");
  if (match !== "Exact" && match !== "NotOlderThan") {
    const message = `Unsupported value: ${JSON.stringify(match)}: supported values: "Exact", "NotOlderThan"`;
    throw refuse(message, "FieldValueNotSupported");
  }
  if (match === "Exact" && version === "0") {
    throw refuse('Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
}

/** A whole number in the query; throws Invalid for anything else and for negative ones. */
export function integer(call: Call, name: string): number | undefined {
  const value = call.query.get(name);
  if (value === null || value === "") return undefined;
  const number = Number(value);
  if (/^-?\d+$/.test(value) && Number.isSafeInteger(number) && number >= 0) return number;
  const message = `Invalid value: ${JSON.stringify(value)}: must be a whole number greater than or equal to 0`;
  throw optionsInvalid("ListOptions", name, "FieldValueInvalid", message);
}

export { optionsInvalid };
