import { MOST_ATTEMPTS } from "./attempts.ts";
import type { Volume } from "./volume.ts";

/** The restore that a volume's spec asks for and that is not done or given up yet. */
export function pendingRestore({ spec, status }: Volume): { snapshot: string; request?: string } | undefined {
  const { restoreFrom } = spec;
  if (restoreFrom === undefined) return undefined;
  const { restore } = status ?? {};
  const same = restore?.snapshot === restoreFrom.snapshot && restore.request === restoreFrom.request;
  return same && restore.state !== "Pending" ? undefined : restoreFrom;
}

/** The file system that has to grow while nobody uses it, unless that has been given up. */
export function pendingExpansion({ status }: Volume): { size: number } | undefined {
  const { expansion } = status ?? {};
  return expansion === undefined || (expansion.failures ?? 0) >= MOST_ATTEMPTS ? undefined : expansion;
}
