import { formatQuantity, parseQuantity, type UnstructuredObject } from "@mooring/store";
import { digText } from "../kinds/builtin-kind.ts";

/** What a claim takes of a quota. */
export interface ClaimUsage {
  namespace: string;
  /** Absent while it has none: then it is of the default class. */
  storageClass: string | undefined;
  bytes: bigint;
}

/** Kept for each claim, or once by claim for `reader.over`. */
export function claimUsage(claim: UnstructuredObject): ClaimUsage {
  const size = digText(claim, "spec", "resources", "requests", "storage");
  const storageClass = (claim.spec as { storageClassName?: string } | undefined)?.storageClassName;
  return {
    namespace: claim.metadata.namespace ?? "",
    storageClass,
    bytes: size === "" ? 0n : parseQuantity(size),
  };
}

const CLAIMS = ["persistentvolumeclaims", "count/persistentvolumeclaims"];
const STORAGE = "requests.storage";
const OF_CLASS = /^(.+)\.storageclass\.storage\.k8s\.io\/(requests\.storage|persistentvolumeclaims)$/;

/** What a quota may limit: claims, and what they ask for; of all classes, or of one. */
export const SUPPORTED: readonly string[] = [
  ...CLAIMS,
  STORAGE,
  "CLASS.storageclass.storage.k8s.io/requests.storage",
  "CLASS.storageclass.storage.k8s.io/persistentvolumeclaims",
];

/** The resource is one that is counted here. */
export function isCounted(resource: string): boolean {
  return CLAIMS.includes(resource) || resource === STORAGE || OF_CLASS.test(resource);
}

/** Only the sum of all classes may have a fraction, as in Kubernetes: names with a path are extended resources there. */
export function isWhole(resource: string): boolean {
  return resource !== STORAGE;
}

/** How much of a resource the claim takes: bytes, or 1 for a claim that counts. */
export function amountOf(resource: string, usage: ClaimUsage, defaultClass: string | undefined): bigint {
  const [, storageClass, what = resource] = OF_CLASS.exec(resource) ?? [];
  if (storageClass !== undefined && storageClass !== (usage.storageClass ?? defaultClass)) return 0n;
  return what === STORAGE ? usage.bytes : 1n;
}

/** The sum of a resource over claims. */
export function sumOf(
  resource: string,
  usages: Iterable<ClaimUsage>,
  defaultClass: string | undefined,
): bigint {
  let sum = 0n;
  for (const usage of usages) sum += amountOf(resource, usage, defaultClass);
  return sum;
}

/** As a quota's status has it: `9Gi`, or a number of claims. */
export function amountText(resource: string, amount: bigint): string {
  return resource.endsWith(STORAGE) ? formatQuantity(amount) : String(amount);
}
