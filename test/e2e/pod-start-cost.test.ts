import assert from "node:assert/strict";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { VolumeAttachments, Volumes } from "@mooring/engine";
import {
  createInformer,
  type KubeObject,
  KubeVolumeAttachments,
  PersistentVolumeClaims,
  Pods,
  type Resource,
  type RestStore,
  waitFor,
} from "@mooring/store";
import { thorough } from "@mooring/store/testing";
import { claim, pod } from "../support/manifests.ts";
import { Up } from "../support/up.ts";

const namespace = "default";
/** Everything that a volume's way to a pod has ever run. */
const PROGRAMS = [
  ...["mount", "umount", "losetup", "mkfs.ext4", "mkfs.xfs", "blkid", "blockdev", "blkdiscard"],
  ...["e2fsck", "resize2fs", "xfs_growfs", "xfs_repair", "findmnt", "lsblk"],
];
/** What one pod with a new volume has written, its creation included. Events are written with other writes. */
const WRITES = { pod: 5, volume: 5, ticket: 4, attachment: 2 };

let up: Up;
let store: RestStore;
let folder: string;

/** Programs of these names that write down that they were run, and then are what they seem. */
async function shims(): Promise<string> {
  for (const program of PROGRAMS) {
    const path = join(folder, program);
    const others = `\${PATH#${folder}${delimiter}}`;
    await writeFile(
      path,
      `#!/bin/sh\nPATH="${others}"\necho "${program} $*" >> ${join(folder, "log")}\nexec ${program} "$@"\n`,
    );
    await chmod(path, 0o755);
  }
  await writeFile(join(folder, "log"), "");
  return `${folder}${delimiter}${process.env.PATH}`;
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "mooring-programs-"));
  up = await Up.create({ env: { PATH: await shims() } });
  await up.start();
  store = await up.store();
});
after(async () => {
  await up?.dispose();
  await rm(folder, { recursive: true, force: true });
});

async function bound(name: string): Promise<string> {
  await store.create(PersistentVolumeClaims, claim(namespace, name));
  const found = await waitFor(
    store,
    { resource: PersistentVolumeClaims, key: { namespace, name } },
    (item) => item?.status?.phase === "Bound",
    AbortSignal.timeout(120_000),
  );
  return found?.spec?.volumeName ?? "";
}

async function running(name: string): Promise<void> {
  await store.create(Pods, pod(namespace, name, "exec sleep 100000", { mounts: { "/data": name } }));
  await waitFor(
    store,
    { resource: Pods, key: { namespace, name } },
    (item) => item?.status?.phase === "Running",
    AbortSignal.timeout(120_000),
  );
}

/** What becomes of objects of a kind from now on: each write is one change. */
async function changesOf<T extends KubeObject>(resource: Resource<T>, signal: AbortSignal): Promise<T[]> {
  const informer = createInformer(store, resource);
  const seen: T[] = [];
  void informer.run(signal).catch(() => {});
  await informer.synced(signal);
  informer.onChange((_, next) => {
    if (next !== undefined) seen.push(next);
  });
  return seen;
}

test("a pod's start with a new volume takes so many writes and programs", thorough(), async (t) => {
  const stop = new AbortController();
  t.after(() => stop.abort());
  // What only the first container of a machine needs is there then.
  await bound("first");
  await running("first");
  const volumeName = await bound("second");
  const [pods, volumes, tickets, attachments] = [
    await changesOf(Pods, stop.signal),
    await changesOf(Volumes, stop.signal),
    await changesOf(VolumeAttachments, stop.signal),
    await changesOf(KubeVolumeAttachments, stop.signal),
  ];
  const ran = async () => (await readFile(join(folder, "log"), "utf8")).trim().split("\n");
  const before = (await ran()).length;

  await running("second");

  const programs = (await ran()).slice(before).filter((line) => !line.includes("/runtime/base/"));
  assert.deepEqual(
    programs.map((line) => line.split(" ")[0]).sort(),
    ["losetup", "mkfs.ext4", "mount", "mount"],
    programs.join("\n"),
  );
  const own = <T extends KubeObject>(seen: readonly T[], isOwn: (object: T) => boolean) =>
    seen.filter(isOwn).length;
  const handle = volumes.at(-1)?.metadata.name;
  const writes = {
    pod: own(pods, ({ metadata }) => metadata.name === "second"),
    volume: own(volumes, ({ metadata }) => metadata.name === handle),
    ticket: own(tickets, ({ metadata }) => metadata.name === handle),
    attachment: own(attachments, ({ spec }) => spec?.source?.persistentVolumeName === volumeName),
  };
  const isMore = Object.entries(writes).some(([of, count]) => count > WRITES[of as keyof typeof WRITES]);
  assert.ok(!isMore, `${JSON.stringify(writes)} writes, more than ${JSON.stringify(WRITES)}`);
  // A watch that has seen nothing would find nothing wrong.
  assert.ok(writes.pod > 1 && writes.volume > 1, JSON.stringify(writes));
});
