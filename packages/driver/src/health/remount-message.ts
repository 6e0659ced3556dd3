import type { Volume } from "@mooring/engine";

/** What the users of a volume read for as long as some have it mounted as it was before; at most 128 bytes. */
export function remountMessage({ status }: Volume): string | undefined {
  const asked = status?.remountRequestedAt;
  if (asked === undefined) return undefined;
  return `what was mounted before ${asked} is dead or moved: start the pods that use it again`;
}
