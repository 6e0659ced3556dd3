import type { Life } from "./life.ts";
import type { VolumeClient } from "./volume-client.ts";

/** One thing that who uses a volume may do now. A further one is a line. */
interface VolumeAct {
  weight: number;
  may(client: VolumeClient): boolean;
  run(client: VolumeClient, life: Life): Promise<void>;
}

export const VOLUME_ACTS: readonly VolumeAct[] = [
  { weight: 20, may: (c) => !c.has("claim"), run: (c, life) => c.createClaim(life) },
  { weight: 20, may: (c) => c.has("claim") && !c.has("pod"), run: (c, life) => c.createPod(life) },
  { weight: 6, may: (c) => c.has("pod"), run: (c, life) => c.waitForRecords(life) },
  { weight: 4, may: (c) => c.has("pod") && !c.has("snapshot"), run: (c, life) => c.createSnapshot(life) },
  {
    weight: 8,
    may: (c) => c.has("snapshot") && !c.has("restored"),
    run: (c, life) => c.createRestored(life),
  },
  {
    weight: 20,
    may: (c) => c.has("restored") && !c.has("auditor"),
    run: (c, life) => c.createAuditor(life),
  },
  { weight: 9, may: (c) => c.has("auditor"), run: (c, life) => c.waitForAudit(life) },
  { weight: 3, may: (c) => c.canGrow, run: (c, life) => c.grow(life) },
  { weight: 1, may: (c) => c.has("claim"), run: (c, life) => c.annotate(life) },
  { weight: 1, may: (c) => c.has("pod"), run: (c, life) => c.delete(life, "pod") },
  {
    weight: 3,
    may: (c) => c.has("snapshot") && !c.has("restored"),
    run: (c, life) => c.delete(life, "snapshot"),
  },
  { weight: 3, may: (c) => c.has("claim") && !c.has("pod"), run: (c, life) => c.delete(life, "claim") },
];
