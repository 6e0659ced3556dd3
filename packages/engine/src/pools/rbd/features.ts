import type { ImageFeature } from "../../api/image-features.ts";
import { FEATURE_BITS } from "../../host/rbd-library/calls.ts";

/** Those that a kernel does not know: `known` is the sum that its client shows. One that nobody has numbered yet is among them. */
export function unknownTo(known: number, features: readonly string[]): string[] {
  return features.filter((name) => (known & (FEATURE_BITS[name] ?? 0)) === 0);
}

/** For `rbd create` and `rbd clone`; none: as the program decides. */
export function featureArguments(features: readonly ImageFeature[] | undefined): string[] {
  return features === undefined ? [] : ["--image-feature", features.join(",")];
}
