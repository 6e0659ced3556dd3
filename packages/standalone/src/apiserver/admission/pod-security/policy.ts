import type { UnstructuredObject } from "@mooring/store";
import { type FieldError, invalid } from "../../../schema/field-error.ts";
import { BASELINE } from "./baseline.ts";
import type { Control } from "./control.ts";
import { factsOf, fieldsOf } from "./pod.ts";
import { RESTRICTED } from "./restricted.ts";

const PREFIX = "pod-security.kubernetes.io/";
const MODES = ["enforce", "audit", "warn"] as const;
type Mode = (typeof MODES)[number];
const LEVELS = ["privileged", "baseline", "restricted"];
/** The minor version whose controls `latest` means. */
const LATEST = 35;

/** `restricted:latest`, `baseline:v1.28`. */
interface Policy {
  level: string;
  version: string;
  minor: number;
}

/** As messages name a policy: `restricted:latest`. */
export const describePolicy = ({ level, version }: Policy): string => `${level}:${version}`;

function minorOf(version: string): number | undefined {
  if (version === "latest") return LATEST;
  const minor = /^v1\.(0|[1-9]\d{0,4})$/.exec(version)?.[1];
  return minor === undefined ? undefined : Number(minor);
}

/** What a namespace asks for. An unknown value means the strictest, as it does on a cluster. */
export function policyOf(namespace: UnstructuredObject, mode: Mode): Policy {
  const labels = fieldsOf(namespace.metadata, "labels");
  const { [PREFIX + mode]: level = "privileged", [`${PREFIX}${mode}-version`]: version = "latest" } = labels;
  const minor = minorOf(String(version));
  return {
    level: LEVELS.includes(String(level)) ? String(level) : mode === "enforce" ? "restricted" : "privileged",
    version: minor === undefined ? "latest" : String(version),
    minor: minor ?? LATEST,
  };
}

/** Labels of a namespace with unknown values. */
export function labelErrors(namespace: UnstructuredObject): FieldError[] {
  const labels = fieldsOf(namespace.metadata, "labels");
  return MODES.flatMap((mode) => {
    const errors: FieldError[] = [];
    const [level, version] = [labels[PREFIX + mode], labels[`${PREFIX}${mode}-version`]];
    if (level !== undefined && !LEVELS.includes(String(level)))
      errors.push(invalid(`metadata.labels[${PREFIX}${mode}]`, level, `must be one of ${LEVELS.join(", ")}`));
    if (version !== undefined && minorOf(String(version)) === undefined) {
      const detail = 'must be "latest" or "v1.x"';
      errors.push(invalid(`metadata.labels[${PREFIX}${mode}-version]`, version, detail));
    }
    return errors;
  });
}

const isThen = ({ since, until = Number.POSITIVE_INFINITY }: Control, minor: number) =>
  minor >= since && minor < until;

function controlsOf({ level, minor }: Policy): Control[] {
  if (level === "privileged") return [];
  const baseline = BASELINE.filter((control) => isThen(control, minor));
  if (level === "baseline") return baseline;
  const restricted = RESTRICTED.filter((control) => isThen(control, minor));
  const replaced = new Set(restricted.flatMap(({ replaces = [] }) => replaces));
  return [...baseline.filter(({ id }) => !replaced.has(id)), ...restricted];
}

/** Everything of a pod that a policy forbids, in the order of Kubernetes. */
export function violations(pod: UnstructuredObject, policy: Policy): string[] {
  const facts = factsOf(pod);
  return controlsOf(policy)
    .map((control) => control.check(facts, policy.minor))
    .filter((found) => found !== undefined);
}
