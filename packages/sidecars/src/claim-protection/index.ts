import { keyOf, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { source } from "../common/source.ts";
import { releaseClaim } from "./apply.ts";
import { type ClaimView, decideClaim, type ReleaseStep } from "./decide.ts";
import { readClaim } from "./read.ts";

const failpoints = stepFailpoints<ReleaseStep>("sidecars/claim-protection", { release: true });

/** Lets source claims go when no unfinished snapshot needs them, seen anew after every change. */
export function runClaimProtection(context: SidecarContext, signal: AbortSignal): Promise<void> {
  return claimReleaser(context, "snapshot/claims", context.hasGroupKinds).run(signal);
}

/** The same where groups are served. */
export function runGroupClaimProtection(context: SidecarContext, signal: AbortSignal): Promise<void> {
  return claimReleaser(context, "group-snapshot/claims", true).run(signal);
}

/** Where groups may need a claim, nothing is let go before they are known. */
function claimReleaser(context: SidecarContext, name: string, withGroups: boolean) {
  const { claims, contents, groupContents, groups, snapshots, volumes } = context.cluster;
  return sidecarController<ClaimView, ReleaseStep>(context, {
    name,
    failpoints,
    concurrency: 4,
    sources: [source(claims, (claim) => [keyOf(claim)])],
    watched: [contents, snapshots, volumes, ...(withGroups ? [groups, groupContents] : [])],
    read: (key, from) => readClaim({ ...from, hasGroupKinds: withGroups }, key),
    isGone: ({ claim }) => claim === undefined,
    decide: decideClaim,
    apply: (_, { claim }, key) => releaseClaim(context, key, claim),
  });
}
