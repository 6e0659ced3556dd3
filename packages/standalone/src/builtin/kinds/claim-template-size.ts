import { PersistentVolumeClaims, type UnstructuredObject } from "@mooring/store";
import { dig, digList, digText } from "../../kinds/builtin-kind.ts";
import { forbidden, invalidObject } from "../../schema/field-error.ts";
import { compareQuantities } from "../../schema/quantity.ts";
import type { Collect } from "../../schema/strategy.ts";

/** Where a claim, and a template of one, has its size. */
export const STORAGE = ["spec", "resources", "requests", "storage"] as const;

const FULFILLED =
  "may not get smaller: none of its claims is waiting for more than it has, and no volume ever shrinks";

/**
 * Throws Invalid when a template of claims asks for less than before and nothing has come of it but larger claims. While one has
 * less than the template asks for, the growth may be taken back: the claims follow as far as what they have, and stay there.
 * There is no least size beyond that, because the size from before may be less than what a claim has: volumes are
 * rounded up.
 */
export function requireWayBack(
  next: UnstructuredObject,
  old: UnstructuredObject | undefined,
  collect: Collect,
): void {
  if (old === undefined) return;
  const before = digList(old, "spec", "volumeClaimTemplates");
  for (const [i, template] of before.entries()) {
    const [was, is] = [
      digText(template, ...STORAGE),
      dig(next, "spec", "volumeClaimTemplates", i, ...STORAGE),
    ];
    if (was === "" || is === undefined || compareQuantities(String(is), was) >= 0) continue;
    if (isPending(old, digText(template, "metadata", "name"), was, collect)) continue;
    const path = `spec.volumeClaimTemplates[${i}].${STORAGE.join(".")}`;
    throw invalidObject({ group: "apps", kind: "StatefulSet" }, next.metadata.name, [
      forbidden(path, FULFILLED),
    ]);
  }
}

/** Whether one of the template's claims, also of a pod that the set has no more, has less than this or no volume yet. */
function isPending(set: UnstructuredObject, template: string, size: string, collect: Collect): boolean {
  const { name, namespace = "" } = set.metadata;
  const prefix = `${template}-${name}-`;
  return [...collect(PersistentVolumeClaims, namespace, grantOf).values()].some(
    (claim) =>
      claim.name.startsWith(prefix) &&
      /^\d+$/.test(claim.name.slice(prefix.length)) &&
      (claim.granted === "" || compareQuantities(claim.granted, size) < 0),
  );
}

/** What a claim has; empty while it is not bound. */
const grantOf = (claim: UnstructuredObject) => ({
  name: claim.metadata.name,
  granted: digText(claim, "status", "capacity", "storage"),
});
