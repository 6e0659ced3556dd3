import assert from "node:assert/strict";
import { type FileHandle, open } from "node:fs/promises";
import { after, type TestContext, test } from "node:test";
import { mutate } from "@mooring/store";
import { cephOfFile, everyday, withCeph } from "@mooring/store/testing";
import { Volumes } from "../../api/volume.ts";
import { attachmentAt } from "../../testing/attachment-at.ts";
import { MIB } from "../../testing/scratch.ts";
import { Stage, type StageOptions, VOLUME } from "../migration/testing/stage.ts";

const withCluster = await withCeph();
const cluster = cephOfFile(after);
const BLOCK = 4096;

/** Whether a write of one block gets through. */
async function takes(file: FileHandle): Promise<boolean> {
  return file.write(Buffer.alloc(BLOCK, "x"), 0, BLOCK, 2 * BLOCK).then(
    ({ bytesWritten }) => bytesWritten === BLOCK,
    () => false,
  );
}

/** Node a has the volume, a program has its device open, and the device is fenced as with a lost lease. */
async function fencedInUse(
  t: TestContext,
  options: StageOptions = {},
): Promise<{ stage: Stage; device: string; image: string; user: FileHandle }> {
  const stage = await Stage.open(t, { ...options, volume: { volumeMode: "Block", size: 64 * MIB } });
  await stage.ask("a");
  const device = await stage.attached("a");
  const user = await open(device, "rs+");
  let isClosed = false;
  const close = user.close.bind(user);
  user.close = async () => {
    if (!isClosed) await close();
    isClosed = true;
  };
  t.after(() => user.close());
  assert.ok(await takes(user));
  const attachment = await attachmentAt(stage.host, device);
  await stage.host.loops.fence(attachment);
  // The agent sees it with the next change of the volume.
  await mutate(stage.store, Volumes, { name: VOLUME }, ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, fenced: device };
  });
  const { status } = await stage.volume(({ status: s }) => s?.error !== undefined);
  assert.equal(status?.error?.code, "FAILED_PRECONDITION");
  assert.match(status.error.message, /was fenced when this node lost volume v-p-1, and is still in use/);
  assert.equal((await stage.host.loops.at(device))?.autoclear, true);
  assert.equal(await takes(user), false);
  return { stage, device, image: attachment.backingFile, user };
}

test(
  "a program that keeps a fenced device open is reported, and the volume has a new one when it ends",
  everyday(),
  async (t) => {
    const { stage, device, user } = await fencedInUse(t);
    await user.close();
    const { status } = await stage.volume(
      ({ status: s }) => s?.error === undefined && s?.state === "attached",
    );
    const next = await open(status?.device ?? device, "rs+");
    assert.ok(await takes(next));
    await next.close();
    assert.equal((await stage.host.loops.at(status?.device ?? device))?.autoclear, false);
  },
);

test(
  "another node gets the volume while a program keeps the fenced device of the first one open",
  withCluster,
  async (t) => {
    const ceph = await cluster();
    const { stage, image, user } = await fencedInUse(t, {
      rbd: await ceph.rbdPool(),
    });
    await stage.leave("a");
    await stage.ask("b");
    const there = await open(await stage.attached("b"), "rs+");
    assert.ok(await takes(there));
    await there.close();
    assert.equal(await takes(user), false);
    await user.close();
    await stage.leave("b");
    await stage.detached();
    // Its number may be another image's by now.
    assert.deepEqual(await stage.host.loops.list(image), []);
  },
);
