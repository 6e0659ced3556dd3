import { getIfAny } from "@mooring/store";
import { canMigrate } from "../../api/pool.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import type { LoopDevice } from "../../host/host.ts";
import { isImageId } from "../../pools/image-id.ts";
import { migrationOf } from "../../tickets/migration-phase.ts";
import type { OpenPool } from "../open-pools.ts";
import type { ReadContext, ReadSharing } from "../read-context.ts";
import { responsibilityIn } from "../volume/read.ts";
import { isResponsible } from "../volume/responsible-node.ts";
import type { MigrationLease, MigrationView } from "./decide.ts";

/** A view and the things it was made from. */
export interface MigrationReading extends MigrationView {
  volume: Volume;
  /** The image's file, as this node sees it. */
  file: string;
  open: OpenPool;
  /** What {@link MigrationView.path} is attached to now. */
  loop: LoopDevice | undefined;
}

/** Undefined: the volume does not migrate, or not here. */
export async function readMigration(
  context: ReadContext,
  name: string,
): Promise<MigrationReading | undefined> {
  const { store, nodeID, host, pools, poolObjects, sharing, signal } = context;
  if (sharing === undefined || !isImageId(name)) return undefined;
  const volume = await getIfAny(store, Volumes, { name }, signal);
  if (volume === undefined || migrationOf(volume).phase === "none") return undefined;
  const pool = poolObjects.get(volume.spec.pool);
  const open = pools.get(volume.spec.pool);
  if (pool === undefined || !canMigrate(pool) || open === undefined) return undefined;
  const file = `${open.layout.images}/${name}.img`;
  const loop = await host.loops.find(file);
  const { currentMigrationNodeID: target = "" } = volume.status ?? {};
  return {
    ...{ volume, nodeID, file, open, device: deviceOf(loop), path: loop?.path ?? "", loop },
    lease: await leaseOf(sharing, volume, signal),
    responsible: isResponsible(responsibilityIn(context, pool, volume)),
    targetReady: sharing.agents.get(target)?.status?.state === "Ready",
  };
}

function deviceOf(loop: LoopDevice | undefined): MigrationView["device"] {
  if (loop === undefined) return "none";
  if (loop.fenced !== true) return loop.deleted === true ? "stale" : "open";
  // A process that still has it open can do nothing with it.
  if (loop.autoclear === true) return "none";
  return loop.deleted === true ? "stale" : "withheld";
}

/** The record of the lease matters only when it changes hands. */
async function leaseOf(
  { leases }: Pick<ReadSharing, "leases">,
  volume: Volume,
  signal: AbortSignal,
): Promise<MigrationLease> {
  const { name } = volume.metadata;
  const held = leases.holds(name);
  const { phase } = migrationOf(volume);
  const standing =
    phase === "moving" || phase === "closing"
      ? await leases.standing(name, signal)
      : { ours: held, free: false };
  return { ...standing, held, unclean: leases.takenFrom(name) !== undefined };
}
