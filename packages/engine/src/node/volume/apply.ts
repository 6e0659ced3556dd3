import { type Outcome, removeFinalizer } from "@mooring/store";
import { ENGINE_FINALIZER } from "../../api/names.ts";
import { type Pool, wayToRoom } from "../../api/pool.ts";
import { isThickVolume, Volumes } from "../../api/volume.ts";
import { EngineError } from "../../errors.ts";
import type { LoopDevice } from "../../host/host.ts";
import type { Image } from "../../pools/image.ts";
import type { AgentContext } from "../context.ts";
import { copyKey } from "../copy/copies.ts";
import { copyImage } from "../copy/copy.ts";
import type { OpenPool } from "../open-pools.ts";
import { requireVolumeHere } from "../require-volume-here.ts";
import { endShare } from "../share/index.ts";
import { LeaseLost, protectDevice } from "../sharing/protect-device.ts";
import { takeLease } from "../sharing/take-lease.ts";
import { deviceUsers } from "./device-users.ts";
import { failpoints } from "./failpoints.ts";
import { applyJob } from "./jobs/apply.ts";
import type { VolumeReading } from "./read.ts";
import { dropDevice } from "./release-lease.ts";
import { damageOf } from "./statuses.ts";
import type { JobStep, VolumeStep } from "./view.ts";

type ActiveStep = Exclude<VolumeStep, Outcome>;

/** Makes the one change that a decision asks for. */
export async function applyVolumeStep(
  context: AgentContext,
  step: ActiveStep,
  view: VolumeReading,
): Promise<void> {
  const { store, signal } = context;
  const { volume } = view;
  const { name } = volume.metadata;
  switch (step.do) {
    case "record": {
      const write = () => store.updateStatus(Volumes, { ...volume, status: step.status }, { signal });
      // A copy that is being made of the volume ends before the volume is recorded as detached.
      if (step.what === "detached") await context.copies.without(copyKey(volume.spec.pool, name), write);
      else if (step.what === "attaching" && opensMeanwhile(view)) await openMeanwhile(context, view, write());
      else await write();
      // What the last health check found was about a device that is gone.
      if (step.what === "detached") context.faults.delete(name);
      if (step.what === "faulted") {
        context.events.event(volume, "Warning", "Faulted", step.status.error?.message ?? "");
      }
      return;
    }
    case "hide-device": {
      await endShare(context, name);
      const { device, open } = view;
      const users =
        device === undefined || open === undefined ? [] : await deviceUsers(context, open, device.path);
      if (users.length > 0) throw inUse(view, users);
      await store.updateStatus(Volumes, { ...volume, status: step.status }, { signal });
      return;
    }
    case "add-finalizer": {
      const finalizers = [...(volume.metadata.finalizers ?? []), ENGINE_FINALIZER];
      await store.update(Volumes, { ...volume, metadata: { ...volume.metadata, finalizers } }, { signal });
      return;
    }
    case "guard-device":
      // Known to this process and its guard only: a kill right after it changes nothing.
      if (view.loop !== undefined) {
        const image = { id: name, path: view.loop.backingFile };
        await protectDevice(context, openPool(view), image, view.loop);
      }
      return;
    case "take-lease":
      await takeLease(context, volume);
      return;
    case "remove-finalizer":
      await removeFinalizer(store, { resource: Volumes, key: { name } }, ENGINE_FINALIZER, signal);
      return;
    case "repair":
    case "restore-image":
    case "grow-filesystem":
      await applyJob(context, step, view, openPool(view));
      context.pools.touched(volume.spec.pool);
      return;
    default:
      await changeData(context, step.do, view, openPool(view));
      context.pools.touched(volume.spec.pool);
  }
}

/**
 * Records the device before it is open only where no other node can have the image, so that no agent goes by what is
 * recorded before it opens it; and only for workloads, since a job may come before the device does.
 */
function opensMeanwhile(view: VolumeReading): boolean {
  const { lease, open, volume } = view;
  const alone = lease === undefined && open?.backend.block === true;
  return alone && volume.spec.disableFrontend !== true && damageOf(view) === undefined;
}

/** A kill before the record leaves a device that is open: the next life records it, or closes it where no ticket wants it. */
async function openMeanwhile(
  context: AgentContext,
  view: VolumeReading,
  written: Promise<unknown>,
): Promise<void> {
  const opened = changeData(context, "open-device", view, openPool(view)).then(() =>
    failpoints({ do: "open-device" }),
  );
  await Promise.all([written, opened]).finally(() => Promise.allSettled([written, opened]));
}

type DataStep = Exclude<
  ActiveStep["do"],
  | JobStep["do"]
  | ("record" | "hide-device" | "add-finalizer" | "remove-finalizer")
  | ("guard-device" | "take-lease")
>;

async function changeData(
  context: AgentContext,
  step: DataStep,
  view: VolumeReading,
  pool: OpenPool,
): Promise<void> {
  const { host } = context;
  const { volume, file, device, loop } = view;
  const { name } = volume.metadata;
  switch (step) {
    case "create-image":
      await createImage(context, view, pool);
      return;
    case "grow-image":
      await pool.backend.grow(name, volume.spec.size);
      return;
    case "open-device":
      // A folder is its own device.
      if (!pool.backend.block) return;
      if (await pool.backend.writersSuspended()) throw poolFrozen(pool, context.poolObjects.get(pool.name));
      await requireWorking(pool);
      // Not in the middle of a copy: a device that appears then would be written to unseen.
      await context.copies.after(copyKey(pool.name, name), async () => {
        if (view.lease === undefined) await attach(pool, present(file));
        else await openLeased(context, pool, present(file));
      });
      return;
    case "renew-image":
      // Of before this node was shut out: it shows nothing any more, and is opened anew.
      if (loop !== undefined && pool.layout.remote) await context.sharing?.leases.fence(name, loop);
      await pool.backend.renew(name, context.sharing?.leases.clientsBefore(name));
      await context.sharing?.leases.settle(name, context.signal);
      return;
    case "drop-device":
      await endShare(context, name);
      if (loop !== undefined) await dropDevice(context.sharing, pool, name, loop);
      return;
    case "refresh-device":
      if (device !== undefined) await host.loops.refresh(device.path);
      return;
    case "close-device":
      await context.copies.without(copyKey(pool.name, name), () => closeDevice(context, view, pool));
      return;
    case "remove-image":
      await pool.backend.remove(name);
  }
}

function attach({ backend }: OpenPool, file: Image): Promise<LoopDevice> {
  return backend.devices.attach(file, { discard: file.thick !== true });
}

/** Until this has resolved no pod uses the device; after it, it works for as long as the lease does. */
async function openLeased(context: AgentContext, pool: OpenPool, file: Image): Promise<void> {
  if (context.sharing?.leases.holds(file.id) !== true) throw new LeaseLost(file.id);
  const device = await attach(pool, file);
  try {
    await protectDevice(context, pool, file, device);
  } catch (error) {
    if (error instanceof LeaseLost) await pool.backend.devices.detach(device);
    throw error;
  }
}

async function createImage(context: AgentContext, { volume }: VolumeReading, pool: OpenPool): Promise<Image> {
  const { name } = volume.metadata;
  const { source, size, imageFeatures } = volume.spec;
  const options = { thick: isThickVolume(volume), imageFeatures };
  if (source === undefined) return pool.backend.create(name, size, { signal: context.signal, ...options });
  const copy = { source: source.name, id: name, size, ...options };
  if (source.kind === "Snapshot") return copyImage(context, pool, copy);
  const requireSource = () => requireVolumeHere(context, source.name);
  return copyImage(context, pool, { ...copy, requireSource });
}

async function closeDevice(context: AgentContext, view: VolumeReading, pool: OpenPool): Promise<void> {
  const { device, loop, volume } = view;
  if (loop !== undefined) {
    await endShare(context, volume.metadata.name);
    await pool.backend.devices.detach(loop);
    return;
  }
  if (device === undefined) return;
  throw new EngineError("FAILED_PRECONDITION", `volume ${volume.metadata.name} is still mounted`, {
    hint: `unmount the mounts of ${device.path}`,
  });
}

/** Refuses to open: a device in a pool that has failed keeps that from being mounted anew. */
async function requireWorking({ name, backend }: OpenPool): Promise<void> {
  const fault = await backend.fault();
  if (fault === undefined) return;
  throw new EngineError("UNAVAILABLE", `pool ${name} is not usable: ${fault.message}`, {
    hint: `mooring why pool/${name} has what keeps it from being mounted anew`,
  });
}

/** Refuses to open: in a frozen pool, opening the image for writing would wait in the kernel. */
function poolFrozen({ name }: OpenPool, object: Pool | undefined): EngineError {
  return new EngineError(
    "UNAVAILABLE",
    `pool ${name} is full: its writers are suspended until there is room`,
    {
      hint: object === undefined ? `see it: mooring why pool/${name}` : wayToRoom(object),
    },
  );
}

function inUse({ volume }: VolumeReading, users: readonly string[]): EngineError {
  const message = `the device of volume ${volume.metadata.name} is still in use: ${users.join(", ")}`;
  return new EngineError("FAILED_PRECONDITION", message, { hint: "unmount it there first" });
}

function present(file: Image | undefined): Image {
  if (file !== undefined) return file;
  throw new EngineError("DATA_LOSS", "the image is gone");
}

function openPool(view: VolumeReading): OpenPool {
  if (view.open !== undefined) return view.open;
  throw new EngineError("UNAVAILABLE", `pool ${view.volume.spec.pool} is not open`);
}
