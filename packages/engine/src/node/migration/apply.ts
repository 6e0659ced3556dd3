import { failpoint } from "@mooring/store";
import { type VolumeStatus, Volumes } from "../../api/volume.ts";
import { EngineError } from "../../errors.ts";
import type { LoopDevice } from "../../host/host.ts";
import type { AgentContext } from "../context.ts";
import { copyKey } from "../copy/copies.ts";
import { LeaseLost, protectDevice } from "../sharing/protect-device.ts";
import { takeLease } from "../sharing/take-lease.ts";
import type { MigrationRecord, MigrationStep } from "./decide.ts";
import type { MigrationReading } from "./read.ts";

const protectedDevice = failpoint("engine/migration/device-protected");

type ActiveStep = Exclude<MigrationStep, { do: "wait" }>;

/** Makes the one change that a decision asks for. */
export async function applyMigrationStep(
  context: AgentContext,
  step: ActiveStep,
  view: MigrationReading,
): Promise<void> {
  const { host, copies, sharing, signal } = context;
  const { volume } = view;
  const { name } = volume.metadata;
  const { devices } = view.open.backend;
  switch (step.do) {
    case "record":
      await writeRecord(context, step.what, view);
      return;
    case "withhold-device":
      await devices.withhold(imageOf(view));
      return;
    case "fence":
      await host.loops.fence(loopOf(view));
      return;
    case "drop-device":
      await devices.detach(loopOf(view), { lastUser: true });
      return;
    case "close-source":
      // A copy that is being made of it ends first; refused while a workload still has it open.
      await copies.without(copyKey(volume.spec.pool, name), () => devices.detach(loopOf(view)));
      return;
    case "hand-over":
      await sharing?.leases.handOver(name, step.to, signal);
      return;
    case "take-lease":
      await takeLease(context, volume);
      return;
    case "activate-device":
      // Not in the middle of a copy: a device that comes to life then would be written to unseen.
      await copies.after(copyKey(volume.spec.pool, name), () => activate(context, view));
  }
}

/** The guard has the device before anything can be written to it: from here on it works for as long as the lease lasts. */
async function activate(context: AgentContext, view: MigrationReading): Promise<void> {
  const loop = loopOf(view);
  const image = imageOf(view);
  if (context.sharing?.leases.holds(image.id) !== true) throw new LeaseLost(image.id);
  await protectDevice(context, view.open, image, loop);
  protectedDevice();
  await view.open.backend.devices.restore(image, loop);
}

/** The decision has seen it. */
function loopOf({ loop, volume }: MigrationReading): LoopDevice {
  if (loop !== undefined) return loop;
  throw new EngineError("UNAVAILABLE", `volume ${volume.metadata.name} has no device here`);
}

const imageOf = ({ volume, file }: MigrationReading) => ({ id: volume.metadata.name, path: file });

async function writeRecord(
  { store, events, host, signal }: AgentContext,
  what: MigrationRecord,
  view: MigrationReading,
): Promise<void> {
  const { volume, nodeID } = view;
  const status = NEXT[what](volume.status ?? { state: "detached" }, view, host.clock.now());
  await store.updateStatus(Volumes, { ...volume, status }, { signal });
  if (what !== "moved") return;
  const from = volume.status?.currentNodeID ?? "";
  events.event(volume, "Normal", "Migrated", `the volume has moved from node "${from}" to node "${nodeID}"`);
}

type Change = (status: VolumeStatus, view: MigrationReading, now: Date) => VolumeStatus;

const NEXT: Readonly<Record<MigrationRecord, Change>> = {
  "target-ready": (status, { nodeID, path }) => ({
    ...status,
    currentMigrationNodeID: nodeID,
    migrationDevice: path,
  }),
  // A process that has opened the device that is gone has to open the new one.
  "target-lost": (status, _view, now) => ({ ...ended(status), remountRequestedAt: now.toISOString() }),
  "target-closed": ended,
  "target-gone": ended,
  moved: (status, { nodeID, path }, now) => {
    const { error: _error, ...rest } = ended(status);
    const another = status.migrationDevice !== path;
    return {
      ...rest,
      ...(another ? { remountRequestedAt: now.toISOString() } : {}),
      state: "attached",
      robustness: status.robustness === "faulted" ? "faulted" : "healthy",
      ...{ currentNodeID: nodeID, ownerID: nodeID, device: path, frontendDisabled: false },
    };
  },
};

function ended(status: VolumeStatus): VolumeStatus {
  const { currentMigrationNodeID: _node, migrationDevice: _device, ...rest } = status;
  return rest;
}
