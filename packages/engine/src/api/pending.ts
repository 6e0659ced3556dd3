import { defined } from "@mooring/store";
import { MOST_ATTEMPTS } from "./attempts.ts";
import type { Volume } from "./volume.ts";

/** The restore that a volume's spec asks for and that is not done or given up yet. */
export function pendingRestore({ spec, status }: Volume): { snapshot: string; request?: string } | undefined {
  const { restoreFrom } = spec;
  if (restoreFrom === undefined) return undefined;
  const { restore } = status ?? {};
  const same = restore?.snapshot === restoreFrom.snapshot && restore.request === restoreFrom.request;
  if (same && restore.state !== "Pending") return undefined;
  const { snapshot, request } = restoreFrom;
  return { snapshot, ...defined({ request }) };
}

/**
 * True for a member of a group that is to be reverted and is not all there yet: its restore has it, and it stays as it is.
 */
export function awaitsCommit({ spec }: Volume): boolean {
  return spec.restoreFrom?.revert?.committed === false;
}

/** True for a member of a group whose revert is decided: it is never given up, as the others may be done already. */
export function isCommitted({ spec }: Volume): boolean {
  return spec.restoreFrom?.revert?.committed === true;
}

/** The file system that has to grow while no workload uses it, unless that has been given up. */
export function pendingExpansion({ status }: Volume): { size: number } | undefined {
  const { expansion } = status ?? {};
  return expansion === undefined || (expansion.failures ?? 0) >= MOST_ATTEMPTS ? undefined : expansion;
}
