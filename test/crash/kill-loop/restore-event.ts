import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { Snapshots, Volumes } from "@mooring/engine";
import { VolumeGroups } from "@mooring/sidecars";
import {
  isDeleting,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  type Resource,
  VolumeGroupSnapshots,
  VolumeSnapshots,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { mooring } from "../../support/mooring.ts";
import { damageFile, newestWhole } from "./copies.ts";
import { findLeaksBelow } from "./end.ts";
import { endWriters, isFilling, untilRoom } from "./fill-event.ts";
import type { Life } from "./life.ts";
import type { KillLoop } from "./run.ts";

const run = promisify(execFile);
/** What clients make, users before what they use. */
const KINDS: readonly Resource[] = [
  ...[Pods, VolumeGroupSnapshots, VolumeGroups, VolumeSnapshots, PersistentVolumeClaims],
];

/**
 * The store itself is damaged, and put back from the newest whole copy. What was acknowledged after that copy is lost, as
 * the restore says; everything else has to be there. Volumes that have changed since are given up, as an operator would.
 */
export async function damageAndRestore(loop: KillLoop, wrong: string[]): Promise<void> {
  const { up, random } = loop;
  // A life that ended before its first copy, when all others were damaged, has none: no operator could restore it.
  if ((await newestWhole(up.stateDir)) === undefined) return;
  await damageFile(join(up.stateDir, "store", "store.mdb"), random);
  const below = ["--state-dir", up.stateDir];
  // One bit in a page that nothing uses is no damage.
  if ((await mooring("state", "check", ...below)).code !== 0) {
    const { code, stderr } = await mooring(
      "up",
      ...below,
      "--listen",
      "127.0.0.1:0",
      "--node-name",
      "node-a",
    );
    if (code !== 2 || !/^next: .*mooring state restore/m.test(stderr))
      wrong.push(`a damaged store was met with ${code}: ${stderr}`);
  }
  const { code, stdout, stderr } = await mooring("state", "restore", ...below);
  assert.equal(code, 0, stderr);
  if (!/volumes and snapshots made since then are not known any more/.test(stdout))
    wrong.push(`the restore does not say what is lost: ${stdout}`);
  const life = await loop.startWhole();
  const revision = Number(/of revision (\d+)/.exec(stdout)?.[1]);
  const result = await loop.ledger.rewind(life.store, revision);
  wrong.push(...result.wrong);
  loop.excluded += result.changed.length;
  loop.forgetContainers();
  // Of an old state; it may fill the pool once more before it goes.
  const isFull = isFilling(loop);
  const kept = loop.volumes.filter((client) => !result.changed.some((key) => client.uses(key)));
  for (const resource of KINDS)
    for (const key of loop.ledger.present(resource))
      if (!kept.some((client) => client.uses(key))) await loop.ledger.delete(life.store, resource, key);
  await removeForgotten(loop, life);
  if (isFull) await endWriters(loop, life);
  await removeUnknown(loop, life);
  if (isFull) await untilRoom(loop, life);
  await up.end("SIGKILL");
}

/** What an old copy has brought back of earlier rounds, which the ledger has forgotten. */
async function removeForgotten({ ledger }: KillLoop, { store }: Life): Promise<void> {
  for (const resource of KINDS)
    for (const { metadata } of (await store.list(resource)).items) {
      const { name, namespace } = metadata;
      const key = namespace === undefined ? { name } : { namespace, name };
      if (!ledger.knows(resource, key)) await store.delete(resource, key);
    }
}

/** Data that no object knows any more, as `mooring doctor` says it is removed. */
async function removeUnknown({ up }: KillLoop, { store }: Life): Promise<void> {
  const log = () => up.output.slice(-4000);
  await eventually("what is deleted to be gone", async () => (await deleting(store)).length === 0, {
    lastSeen: async () => [await deleting(store), log()],
  });
  let fixes: string[] = [];
  const isClean = async (): Promise<boolean> => {
    fixes = (await findLeaksBelow(store, up.stateDir)).map(({ fix }) => fix);
    for (const fix of fixes) {
      const [, command = "true", path = ""] = /: (rm -r|losetup -d|umount) (\S+)$/.exec(fix) ?? [];
      const [program = "", ...args] = command.split(" ");
      await run(program, path === "" ? args : [...args, path]);
    }
    return fixes.length === 0;
  };
  await eventually("nothing to be left of what the restore has lost", isClean, {
    lastSeen: () => [fixes, log()],
  });
}

async function deleting(store: ObjectStore): Promise<string[]> {
  const lists = [...KINDS, PersistentVolumes, Volumes, Snapshots].map(async (resource) => {
    const { items } = await store.list(resource);
    return items.filter(isDeleting).map(({ metadata }) => `${resource.kind} ${metadata.name}`);
  });
  return (await Promise.all(lists)).flat();
}
