import { labelRequirements, matchesLabels, type UnstructuredObject } from "@mooring/store";
import { dig, digList, digObject, digText, text, wide } from "../../kinds/builtin-kind.ts";
import { type FieldError, invalid, notSupported, required } from "../../schema/field-error.ts";
import { isObject, type JsonObject } from "../../schema/model.ts";
import { labelErrors } from "../../schema/object-meta.ts";
import { podSpecErrors } from "./pod-validate.ts";

type Labels = Record<string, string>;

/**
 * Pods of one workload, at most. No node has room for so many, and each is an object that every part of Mooring keeps in
 * memory: a number with some zeros too many would end the process, and again whenever it starts.
 */
export const MOST_PODS = 10_000;

/** What is wrong with the number of pods that a workload asks for. */
export function podCountErrors(wanted: unknown, path: string): FieldError[] {
  return typeof wanted === "number" && wanted > MOST_PODS
    ? [invalid(path, wanted, `must be less than or equal to ${MOST_PODS}: standalone runs no more at a time`)]
    : [];
}

/** What is wrong with a selector and with the template of the pods that it has to select. */
export function workloadErrors(object: UnstructuredObject, policies: readonly string[]): FieldError[] {
  const spec = digObject(object, "spec");
  return [
    ...podCountErrors(spec.replicas, "spec.replicas"),
    ...selectorErrors(spec),
    ...templateErrors(digObject(spec, "template"), "spec.template", policies),
  ];
}

function selectorErrors(spec: JsonObject): FieldError[] {
  const selector = digObject(spec, "selector");
  if (Object.keys(selector).length === 0)
    return [invalid("spec.selector", selector, "empty selector is invalid for workloads")];
  try {
    const labels = digObject(spec, "template", "metadata", "labels") as Labels;
    if (matchesLabels(labelRequirements(selector), labels)) return [];
    const detail = "`selector` does not match template `labels`";
    return [invalid("spec.template.metadata.labels", labels, detail)];
  } catch (error) {
    return [invalid("spec.selector", selector, error instanceof Error ? error.message : String(error))];
  }
}

/** `policies`: the restart policies that such pods may have. */
export function templateErrors(template: JsonObject, at: string, policies: readonly string[]): FieldError[] {
  if (!isObject(template.spec)) return [required(`${at}.spec`)];
  const policy = digText(template, "spec", "restartPolicy");
  return [
    ...labelErrors(digObject(template, "metadata", "labels") as Labels, `${at}.metadata.labels`),
    ...podSpecErrors(template.spec, `${at}.spec`),
    ...(policies.includes(policy) ? [] : [notSupported(`${at}.spec.restartPolicy`, policy, policies)]),
  ];
}

const containers = (object: unknown, path: readonly string[], field: string): string =>
  digList(object, ...path, "spec", "containers")
    .map((container) => digText(container, field))
    .join(",");

/** Containers, Images and, where there is one, Selector: what `-o wide` adds. */
export function templateColumns(options: { path?: readonly string[]; selector?: boolean } = {}) {
  const { path = ["spec", "template"], selector = true } = options;
  return [
    wide("Containers", (object) => containers(object, path, "name")),
    wide("Images", (object) => containers(object, path, "image")),
    ...(selector ? [wide("Selector", selectorColumn)] : []),
  ];
}

function selectorColumn(object: UnstructuredObject): string {
  const labels = Object.entries(digObject(object, "spec", "selector", "matchLabels"));
  const expressions = digList(object, "spec", "selector", "matchExpressions").map(
    ({ key, operator, values }) => `${key} ${operator} (${Array.isArray(values) ? values.join(",") : ""})`,
  );
  return text([...labels.map(([key, value]) => `${key}=${value}`), ...expressions].join(","));
}

/** A count of the status, 0 while it is not known. */
export const count = (object: UnstructuredObject, ...path: string[]): number =>
  Number(dig(object, ...path) ?? 0);
