import {
  forbidden,
  PersistentVolumeClaims,
  parseQuantity,
  ResourceQuotas,
  type StorageClass,
  StorageClasses,
  type UnstructuredObject,
} from "@mooring/store";
import { digObject } from "../kinds/builtin-kind.ts";
import type { Collect } from "../schema/strategy.ts";
import { defaultClassOf } from "./default-class.ts";
import { amountOf, amountText, claimUsage, sumOf } from "./quota-usage.ts";

/** What a ResourceQuota limits. */
interface Limits {
  name: string;
  hard: Record<string, unknown>;
}

const limitsOf = (quota: UnstructuredObject): Limits => ({
  name: quota.metadata.name,
  hard: digObject(quota, "spec", "hard"),
});

const metadataOf = ({ metadata }: UnstructuredObject): Pick<StorageClass, "metadata"> => ({ metadata });

/**
 * Throws Forbidden when a claim, new or changed, takes more than a quota of its namespace has left. It runs in the same turn
 * as the write, whichever client writes: two claims that fit one at a time never both pass, and those that controllers make
 * count as all others.
 */
export function requireQuota(
  next: UnstructuredObject,
  old: UnstructuredObject | undefined,
  collect: Collect,
): void {
  const { namespace = "", name } = next.metadata;
  const quotas = [...collect(ResourceQuotas, namespace, limitsOf).values()];
  if (quotas.length === 0) return;
  const classes = [...collect(StorageClasses, undefined, metadataOf).values()];
  const defaultClass = defaultClassOf(classes)?.metadata.name;
  const [after, before] = [claimUsage(next), old === undefined ? undefined : claimUsage(old)];
  for (const quota of quotas.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const exceeded = Object.entries(quota.hard).flatMap(([resource, hard]) => {
      const had = before === undefined ? 0n : amountOf(resource, before, defaultClass);
      const requested = amountOf(resource, after, defaultClass) - had;
      if (requested <= 0n) return [];
      const claims = collect(PersistentVolumeClaims, namespace, claimUsage).values();
      const used = sumOf(resource, claims, defaultClass);
      if (used + requested <= parseQuantity(String(hard))) return [];
      const text = (amount: bigint) => `${resource}=${amountText(resource, amount)}`;
      return [{ requested: text(requested), used: text(used), limited: `${resource}=${hard}` }];
    });
    if (exceeded.length === 0) continue;
    const list = (part: "requested" | "used" | "limited") =>
      exceeded
        .map((each) => each[part])
        .sort()
        .join(",");
    const why = `exceeded quota: ${quota.name}, requested: ${list("requested")}, used: ${list("used")}, limited: ${list("limited")}`;
    throw forbidden(PersistentVolumeClaims, name, why);
  }
}
