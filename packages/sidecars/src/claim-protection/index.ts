import { keyOf, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { source } from "../common/source.ts";
import { releaseClaim } from "./apply.ts";
import { type ClaimView, decideClaim, type ReleaseStep } from "./decide.ts";
import { isProtected, readClaim } from "./read.ts";

const failpoints = stepFailpoints<ReleaseStep>("sidecars/claim-protection", { release: true });

/** Takes the finalizer off source claims when no unfinished snapshot needs them any more. */
export function runClaimProtection(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const { claims, contents, snapshots, volumes } = context.cluster;
  return sidecarController<ClaimView, ReleaseStep>(context, {
    name: "snapshot/claims",
    failpoints,
    concurrency: 4,
    sources: [source(claims, (claim) => [keyOf(claim)], isProtected)],
    watched: [contents, snapshots, volumes],
    read: (key, from) => readClaim(from, key),
    isGone: ({ claim }) => claim === undefined || !isProtected(claim),
    decide: decideClaim,
    apply: (_, { claim }) => releaseClaim(context, claim),
  }).run(signal);
}
