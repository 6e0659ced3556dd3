import type { PolicyRule } from "./rules.ts";

const one = (list: readonly string[] | undefined, value: string) =>
  list?.includes("*") === true || list?.includes(value) === true;

/** A rule with one verb, one group, one resource and at most one name, or one path. */
function* parts(rule: PolicyRule): Generator<PolicyRule, void> {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  for (const verb of verbs) {
    for (const url of nonResourceURLs) yield { verbs: [verb], nonResourceURLs: [url] };
    for (const group of apiGroups) {
      for (const resource of resources) {
        const part = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if (resourceNames.length === 0) yield part;
        for (const name of resourceNames) yield { ...part, resourceNames: [name] };
      }
    }
  }
}

function coversResource(held: readonly string[] | undefined, wanted: string): boolean {
  const at = wanted.indexOf("/");
  return one(held, wanted) || (at > 0 && held?.includes(`*${wanted.slice(at)}`) === true);
}

function coversUrl(held: string, wanted: string): boolean {
  if (held === "*" || held === wanted) return true;
  return held.endsWith("*") && wanted.startsWith(held.slice(0, -1));
}

function coversPart(held: PolicyRule, part: PolicyRule): boolean {
  if (!one(held.verbs, part.verbs[0] ?? "")) return false;
  const [url] = part.nonResourceURLs ?? [];
  if (url !== undefined) return (held.nonResourceURLs ?? []).some((each) => coversUrl(each, url));
  const [name] = part.resourceNames ?? [];
  const names = held.resourceNames ?? [];
  return (
    one(held.apiGroups, part.apiGroups?.[0] ?? "") &&
    coversResource(held.resources, part.resources?.[0] ?? "") &&
    (names.length === 0 || (name !== undefined && names.includes(name)))
  );
}

/** What of `wanted` nobody has who has `held`, piece by piece; at most `most` pieces. */
export function uncovered(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
  most = 20,
): PolicyRule[] {
  const missing: PolicyRule[] = [];
  for (const rule of wanted) {
    for (const part of parts(rule)) {
      if (held.some((each) => coversPart(each, part))) continue;
      missing.push(part);
      if (missing.length >= most) return missing;
    }
  }
  return missing;
}

const list = (values: readonly string[]) => `[${values.map((value) => JSON.stringify(value)).join(" ")}]`;

/** `{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}` */
export function describeRule(rule: PolicyRule): string {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const fields = [
    ["APIGroups", apiGroups],
    ["Resources", resources],
    ["ResourceNames", resourceNames],
    ["NonResourceURLs", nonResourceURLs],
    ["Verbs", verbs],
  ] as const;
  const shown = fields.filter(([, values]) => values.length > 0);
  return `{${shown.map(([name, values]) => `${name}:${list(values)}`).join(", ")}}`;
}
