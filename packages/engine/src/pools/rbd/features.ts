import type { ImageFeature } from "../../api/image-features.ts";

/** As the kernel numbers them. */
const BITS: Readonly<Record<string, number>> = {
  ...{ layering: 1, striping: 2, "exclusive-lock": 4, "object-map": 8, "fast-diff": 16, "deep-flatten": 32 },
  ...{ journaling: 64, "data-pool": 128, operations: 256, migrating: 512, "non-primary": 1024 },
};

/** Those that a kernel does not know: `known` is the sum that its client shows. One that nobody has numbered yet is among them. */
export function unknownTo(known: number, features: readonly string[]): string[] {
  return features.filter((name) => (known & (BITS[name] ?? 0)) === 0);
}

/** For `rbd create` and `rbd clone`; none: as the program decides. */
export function featureArguments(features: readonly ImageFeature[] | undefined): string[] {
  return features === undefined ? [] : ["--image-feature", features.join(",")];
}
