import { badRequest } from "@mooring/store";
import type { PolicyRule } from "./rules.ts";

/** Comparisons for one object. A rule stands for each of its verbs with each group, each resource and each name. */
const MOST_COMPARISONS = 100_000;

/** A rule whose lists are looked up, without what is there twice. */
interface RuleSets {
  verbs: ReadonlySet<string>;
  groups: ReadonlySet<string>;
  resources: ReadonlySet<string>;
  names: ReadonlySet<string>;
  urls: ReadonlySet<string>;
}

function setsOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): RuleSets {
  return {
    verbs: new Set(verbs),
    groups: new Set(apiGroups),
    resources: new Set(resources),
    names: new Set(resourceNames),
    urls: new Set(nonResourceURLs),
  };
}

/** Counts comparisons. Throws BadRequest when they are too many. */
type Count = (comparisons: number) => void;

const one = (held: ReadonlySet<string>, value: string) => held.has("*") || held.has(value);

function coversResource(held: ReadonlySet<string>, wanted: string): boolean {
  const at = wanted.indexOf("/");
  return one(held, wanted) || (at > 0 && held.has(`*${wanted.slice(at)}`));
}

function coversUrl(held: string, wanted: string): boolean {
  if (held === "*" || held === wanted) return true;
  return held.endsWith("*") && wanted.startsWith(held.slice(0, -1));
}

function coversUrls(held: ReadonlySet<string>, wanted: string, count: Count): boolean {
  count(held.size);
  return [...held].some((each) => coversUrl(each, wanted));
}

/** Whether one rule allows all that another one does. */
function coversRule(held: RuleSets, wanted: RuleSets, count: Count): boolean {
  count(1 + wanted.verbs.size + wanted.groups.size + wanted.resources.size + wanted.names.size);
  const namesAll =
    held.names.size === 0 ||
    (wanted.names.size > 0 && [...wanted.names].every((name) => held.names.has(name)));
  return (
    namesAll &&
    [...wanted.verbs].every((verb) => one(held.verbs, verb)) &&
    [...wanted.groups].every((group) => one(held.groups, group)) &&
    [...wanted.resources].every((resource) => coversResource(held.resources, resource)) &&
    [...wanted.urls].every((url) => coversUrls(held.urls, url, count))
  );
}

/** What no rule allows: rules with one verb, one group, one resource and at most one name, or one path. */
function* uncoveredParts(
  held: readonly RuleSets[],
  wanted: RuleSets,
  count: Count,
): Generator<PolicyRule, void> {
  for (const verb of wanted.verbs) {
    const withVerb = filtered(held, ({ verbs }) => one(verbs, verb), count);
    for (const url of wanted.urls)
      if (!withVerb.some(({ urls }) => coversUrls(urls, url, count)))
        yield { verbs: [verb], nonResourceURLs: [url] };
    for (const group of wanted.groups) {
      const inGroup = filtered(withVerb, ({ groups }) => one(groups, group), count);
      for (const resource of wanted.resources) {
        const about = filtered(inGroup, ({ resources }) => coversResource(resources, resource), count);
        if (about.some(({ names }) => names.size === 0)) continue;
        const part = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if (wanted.names.size === 0) yield part;
        for (const name of wanted.names)
          if (filtered(about, ({ names }) => names.has(name), count).length === 0)
            yield { ...part, resourceNames: [name] };
      }
    }
  }
}

function filtered(rules: readonly RuleSets[], covers: (rule: RuleSets) => boolean, count: Count): RuleSets[] {
  count(1 + rules.length);
  return rules.filter(covers);
}

/** How far {@link uncovered} goes. */
interface UncoveredLimits {
  /** Pieces that are returned. */
  most?: number;
  comparisons?: number;
}

/**
 * What of `wanted` a user with the rules `held` does not have, piece by piece. Throws BadRequest where there is too much to
 * compare.
 */
export function uncovered(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
  { most = 20, comparisons = MOST_COMPARISONS }: UncoveredLimits = {},
): PolicyRule[] {
  const missing: PolicyRule[] = [];
  let left = comparisons;
  const count: Count = (spent) => {
    left -= spent;
    if (left < 0) throw tooMuch();
  };
  const rules = held.map(setsOf);
  for (const rule of wanted.map(setsOf)) {
    if (rules.some((each) => coversRule(each, rule, count))) continue;
    for (const part of uncoveredParts(rules, rule, count)) {
      missing.push(part);
      if (missing.length >= most) return missing;
    }
  }
  return missing;
}

const tooMuch = () =>
  badRequest(
    "the rules stand for too many combinations of verbs, groups, resources and names to compare with what you have: make several roles of them",
  );

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
