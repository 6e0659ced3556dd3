import { isOutcome, Reconciler, source } from "@mooring/store";
import { type Volume, type VolumeStatus, Volumes } from "../../api/volume.ts";
import { failure } from "../../refused.ts";
import type { AgentContext } from "../context.ts";
import type { AgentInformers } from "../controllers.ts";
import { reportFailure } from "../failure.ts";
import type { Whole } from "../health/images.ts";
import { watchHealth } from "../health/index.ts";
import { applyMigrationStep } from "../migration/apply.ts";
import { decideMigration, type MigrationStep } from "../migration/decide.ts";
import { migrationFailpoints } from "../migration/failpoints.ts";
import { type MigrationReading, readMigration } from "../migration/read.ts";
import { leaseTopic, openPoolTopic, readContext } from "../read-context.ts";
import { LeaseHeldElsewhere } from "../sharing/take-lease.ts";
import { applyVolumeStep } from "./apply.ts";
import { decide } from "./decide.ts";
import { failpoints } from "./failpoints.ts";
import { readVolume, type VolumeReading } from "./read.ts";
import { releaseUnneeded } from "./release-lease.ts";
import { wholeSize } from "./statuses.ts";

/** Short, because what the agent waits for most often, the end of a mount, sends no event. */
const BACKOFF = { maxMs: 10_000 };
/**
 * A node that gives a lease back changes the object, which wakes us; a lease that runs out sends nothing, and has to be
 * read again.
 */
const LEASE_RETRY_MS = 2000;
const BLANK: VolumeStatus = { state: "creating", robustness: "unknown" };

/** A migration's steps come first; the volume's other steps wait while the migration has one. */
type Reading = { migration: MigrationReading; step: MovingStep } | { volume: VolumeReading };
type MovingStep = Exclude<NonNullable<MigrationStep>, { do: "wait" }>;
type Step =
  | { do: "migrate"; step: MovingStep; reading: MigrationReading }
  | { do: "change"; step: VolumeChange; reading: VolumeReading };
type VolumeChange = Parameters<typeof applyVolumeStep>[1];

/**
 * The image whose size is checked: an image that is being made or removed need not be whole, and one that is known to be
 * damaged is checked elsewhere.
 */
function wholeOf(volume: Volume): Whole[] {
  const { metadata, spec, status } = volume;
  const size = wholeSize(volume);
  const passing = status?.state === "creating" || status?.state === "deleting";
  if (size === undefined || passing || status?.robustness === "faulted") return [];
  return [{ name: metadata.name, pool: spec.pool, size }];
}

/** Takes the volumes of this node as far as they can go, and watches the health of those that are attached. */
export function runVolumes(
  context: AgentContext,
  { volumes, snapshots, attachments, pools }: AgentInformers,
): Promise<void> {
  const { sharing } = context;
  const reconciler = new Reconciler<Reading, Step>({
    name: "volume",
    store: context.store,
    logger: context.logger,
    concurrency: 8,
    backoff: BACKOFF,
    sources: [source(volumes, ({ metadata }) => [metadata.name])],
    watched: [snapshots, attachments, pools, ...(sharing === undefined ? [] : [sharing.agents])],
    async read(name, { reader }) {
      const reading = readContext(context, reader);
      const migration = await readMigration(reading, name);
      const step = migration === undefined ? undefined : decideMigration(migration);
      if (migration !== undefined && step !== undefined && step.do !== "wait") return { migration, step };
      const volume = await readVolume(reading, name);
      return volume === undefined ? undefined : { volume };
    },
    decide(view) {
      if ("migration" in view) return { do: "migrate", step: view.step, reading: view.migration };
      const step = decide(view.volume);
      return isOutcome(step) ? step : { do: "change", step, reading: view.volume };
    },
    async apply(step) {
      if (step.do === "migrate") await applyMigrationStep(context, step.step, step.reading);
      else await applyVolumeStep(context, step.step, step.reading);
    },
    failpoints: (step) => (step.do === "migrate" ? migrationFailpoints(step.step) : failpoints(step.step)),
    ended: (name) => releaseUnneeded(context, name),
    waitsFor: (error) =>
      error instanceof LeaseHeldElsewhere
        ? { do: "wait", afterMs: Math.min(LEASE_RETRY_MS, error.retryAfterMs) }
        : undefined,
    failed: (name, error) => reportFailure(context, { resource: Volumes, name }, error, { blank: BLANK }),
    errorOf: failure,
  });
  sharing?.onTurn((image) => reconciler.add(image));
  sharing?.onLeaseChanged((image) => reconciler.changed(leaseTopic(image)));
  context.pools.onOpened((pool) => reconciler.changed(openPoolTopic(pool)));
  const health = watchHealth(context, volumes, (name) => reconciler.add(name));
  context.images.add({
    wholes: () => volumes.list().flatMap(wholeOf),
    ask: (name) => reconciler.add(name),
  });
  return Promise.all([reconciler.run(context.signal), health]).then(() => {});
}
