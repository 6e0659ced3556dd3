import type { Condition } from "@mooring/store";
import { defined } from "@mooring/store";
import type { CrdNames, CustomResourceDefinition } from "./types.ts";

/** What is decided about a definition's names, given the other definitions of its group. */
interface NamesDecision {
  acceptedNames: CrdNames;
  conditions: Condition[];
}

/**
 * The names that a definition gets: all it asks for, unless an established definition of the same group has taken
 * one. Pure; `now` is RFC 3339 and marks conditions whose status changed.
 */
export function decideNames(
  crd: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
  now: string,
): NamesDecision {
  const conflict = findConflict(crd, others);
  const before = crd.status?.conditions ?? [];
  const wasEstablished = before.some((c) => c.type === "Established" && c.status === "True");
  const names =
    conflict === undefined
      ? normalized(crd.spec.names)
      : (crd.status?.acceptedNames ?? { plural: "", kind: "" });
  const accepted: Omit<Condition, "lastTransitionTime"> =
    conflict === undefined
      ? { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" }
      : { type: "NamesAccepted", status: "False", ...conflict };
  const established: Omit<Condition, "lastTransitionTime"> =
    conflict === undefined || wasEstablished
      ? {
          type: "Established",
          status: "True",
          reason: "InitialNamesAccepted",
          message: "the initial names have been accepted",
        }
      : {
          type: "Established",
          status: "False",
          reason: "NotAccepted",
          message: "not all names are accepted",
        };
  return {
    acceptedNames: names,
    conditions: [accepted, established].reduce((list, c) => setCondition(list, c, now), before),
  };
}

function normalized(names: CrdNames): CrdNames {
  return {
    plural: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    ...defined({ shortNames: names.shortNames }),
    kind: names.kind,
    listKind: names.listKind ?? `${names.kind}List`,
    ...defined({ categories: names.categories }),
  };
}

function findConflict(
  crd: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
): { reason: string; message: string } | undefined {
  const rivals = others.filter(
    (other) => other.spec.group === crd.spec.group && other.metadata.name !== crd.metadata.name,
  );
  const taken = rivals.map((other) => other.status?.acceptedNames).filter((names) => names !== undefined);
  const resources = new Set(
    taken.flatMap((names) => [names.plural, names.singular ?? "", ...(names.shortNames ?? [])]),
  );
  const kinds = new Set(taken.flatMap((names) => [names.kind, names.listKind ?? ""]));
  const wanted = normalized(crd.spec.names);
  const checks: [string, string | undefined, Set<string>][] = [
    ["PluralConflict", wanted.plural, resources],
    ["SingularConflict", wanted.singular, resources],
    ...(wanted.shortNames ?? []).map((name): [string, string, Set<string>] => [
      "ShortNamesConflict",
      name,
      resources,
    ]),
    ["KindConflict", wanted.kind, kinds],
    ["ListKindConflict", wanted.listKind, kinds],
  ];
  const clash = checks.find(([, name, set]) => name !== undefined && name !== "" && set.has(name));
  return clash === undefined
    ? undefined
    : { reason: clash[0], message: `${JSON.stringify(clash[1])} is already in use` };
}

/** Keeps the transition time of a condition whose status stays. */
export function setCondition(
  conditions: readonly Condition[],
  next: Omit<Condition, "lastTransitionTime">,
  now: string,
): Condition[] {
  const old = conditions.find((c) => c.type === next.type);
  const since = old !== undefined && old.status === next.status ? old.lastTransitionTime : now;
  const condition: Condition = { ...next, lastTransitionTime: since };
  return old === undefined
    ? [...conditions, condition]
    : conditions.map((c) => (c.type === next.type ? condition : c));
}
