/**
 * One life of a node with its arbiter, data services and group reverts: `crash-child.ts DIR`. Puts two raw volumes back to
 * a group snapshot, gives up another revert, and goes on where the last life was killed. Ends with exit code 0 when no
 * ticket has a volume any more and both have the old bytes, with 3 when they have not.
 */
import { open } from "node:fs/promises";
import { join } from "node:path";
import {
  getIfAny,
  isAlreadyExists,
  isDeleting,
  isNotFound,
  LocalStore,
  silentLogger,
  waitFor,
} from "@mooring/store";
import { eventually, nothingSleeps } from "@mooring/store/testing";
import { VolumeAttachments } from "../../../api/attachment.ts";
import { VolumeGroupReverts } from "../../../api/group-revert.ts";
import { Snapshots } from "../../../api/snapshot.ts";
import { type Volume, Volumes } from "../../../api/volume.ts";
import { createHost } from "../../../host/create-host.ts";
import { startAgent } from "../../../node/index.ts";
import { engineRegistry, NODE, POOL, snapshotObject, until, volumeObject } from "../../../testing/agent.ts";
import { armLife } from "../../../testing/passed.ts";
import { GIB } from "../../../testing/scratch.ts";
import { addTicket, removeTickets } from "../../../tickets/tickets.ts";
import { startArbiter } from "../../arbiter/index.ts";
import { startServices } from "../../services/index.ts";
import { startGroupReverts } from "../index.ts";
import { createRevert, groupSnapshot, NAMESPACE, revertIn } from "./group.ts";
import { GROUP, imageOf, present } from "./images.ts";

const [dir = ""] = process.argv.slice(2);
const ended = armLife(dir);
const host = createHost();
const stop = new AbortController();
const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
const common = { store, logger: silentLogger, signal: stop.signal };
const agent = await startAgent({
  ...{ ...common, host, nodeID: NODE, stateDir: join(dir, "state") },
  pools: [{ name: POOL, type: "xfs", size: 2 * GIB }],
});
const parts = [await startArbiter(common), await startServices(common), startGroupReverts(common)];

if ((await getIfAny(store, VolumeGroupReverts, { namespace: NAMESPACE, name: "r" })) === undefined) {
  for (const [volume, snapshot] of Object.entries(GROUP)) {
    await store.create(Volumes, volumeObject(volume, { volumeMode: "Block" }));
    await until(store, Volumes, volume, ({ status }) => status?.state === "detached");
    await write(volume, "old");
    await store.create(Snapshots, snapshotObject(snapshot, volume));
    await until(store, Snapshots, snapshot, ({ status }) => status?.readyToUse === true);
    await idle(volume);
    await write(volume, "new");
  }
  await groupSnapshot(store, "g", GROUP);
  await createRevert(store, "r", "g");
}
await revertIn(store, "r", "Complete", ({ metadata }) => (metadata.finalizers ?? []).length === 0);
// The last life may have been killed with it.
await leave();
for (const volume of Object.keys(GROUP)) await idle(volume);
await giveUp();
for (const volume of Object.keys(GROUP)) await idle(volume);
// The pool is unmounted when the agent has stopped.
if ((await present(dir)).some((bytes) => bytes !== "old")) process.exitCode = 3;
await nothingSleeps({ store });
stop.abort();
await Promise.all([agent.done, ...parts.map(({ done }) => done)]);
await store.close();
await ended();

/** A revert that cannot begin, since a workload has a member, and is deleted: those that it has asked for are released. */
async function giveUp(): Promise<void> {
  const key = { namespace: NAMESPACE, name: "r-2" };
  const [volume = ""] = Object.keys(GROUP);
  await addTicket(store, volume, { id: "csi", type: "csi-attacher", nodeID: NODE }, { now: new Date() });
  await createRevert(store, key.name, "g").catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  // The last life may have been killed behind its deletion.
  const asked = ({ spec }: Volume) => spec.restoreFrom?.revert?.name === `${NAMESPACE}/${key.name}`;
  const isFinished = async () => {
    const revert = await getIfAny(store, VolumeGroupReverts, key);
    return revert === undefined || isDeleting(revert);
  };
  await eventually(
    "all to be asked for",
    async () => (await isFinished()) || (await store.list(Volumes)).items.every(asked),
  );
  await store.delete(VolumeGroupReverts, key).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  const signal = AbortSignal.timeout(60_000);
  await waitFor(store, { resource: VolumeGroupReverts, key }, (revert) => revert === undefined, signal);
  await leave();
}

/** The workload that has a member. */
async function leave(): Promise<void> {
  for (const volume of Object.keys(GROUP)) await removeTickets(store, volume, ({ id }) => id === "csi");
}

async function write(volume: string, text: string): Promise<void> {
  const file = await open(imageOf(dir, volume), "r+");
  await file.write(text, 0);
  await file.sync();
  await file.close();
}

/** No ticket has it, and it is closed. */
async function idle(name: string): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  const free = (a: { spec: { attachmentTickets?: object } } | undefined) =>
    Object.keys(a?.spec.attachmentTickets ?? {}).length === 0;
  await waitFor(store, { resource: VolumeAttachments, key: { name } }, free, signal);
  await until(store, Volumes, name, ({ status }) => status?.state === "detached");
}
