import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { TOPOLOGY_NODE_KEY } from "@mooring/engine";
import { covers, sample } from "@mooring/store/testing";
import { type Driver, host, NODE, startDriver } from "./support/driver.ts";
import { gate } from "./support/gate.ts";
import {
  type CapabilityChoice,
  capability,
  fails,
  MIB,
  remove,
  staged,
  volumeId,
} from "./support/volumes.ts";

const MODES = ["MULTI_NODE_READER_ONLY", "MULTI_NODE_SINGLE_WRITER", "MULTI_NODE_MULTI_WRITER"] as const;

const imaged = await startDriver();
const folders = await startDriver({ pool: "directory" });
/** A program of this name that never comes to its work: a call that needs it waits for ever. */
await imaged.restart({ PATH: (await gate(imaged.folder, "ganesha.nfsd", "ganesha.nfsd")).path });

const nothingServed = async ({ stateDir }: Driver) =>
  assert.equal((await readdir(stateDir)).includes("shares"), false);

for (const [pool, driver] of Object.entries({ xfs: imaged, directory: folders })) {
  for (const mode of sample(MODES, { everyday: 1 })) {
    test(`${pool}: ${mode}, the driver alone: the file system itself is used, no server is started`, async () => {
      covers("CSI-072", "CSI-073", "CSI-090");
      const choice: CapabilityChoice = { mode };
      const volumeCapabilities = [capability(choice)];
      assert.ok((await driver.controller.getCapacity({ volumeCapabilities })).availableCapacity > 0n);
      const volume = await staged(driver, mode, { choice });
      const { volume: reported } = await driver.controller.controllerGetVolume({ volumeId: volume.id });
      assert.deepEqual(
        reported?.accessibleTopology.map(({ segments }) => segments[TOPOLOGY_NODE_KEY]),
        [NODE],
      );
      const [top] = (await host.mounts.at(volume.staging)).slice(-1);
      assert.match(top?.fsType ?? "", /^(?!nfs)/);
      assert.ok(
        top?.source.startsWith("/dev/loop") || top?.root.includes(volume.id),
        `${top?.source} ${top?.root}`,
      );
      const [one, two] = ["one", "two"].map((name) => driver.path(`${mode}-${name}`)) as [string, string];
      await volume.publish(one);
      await volume.publish(two, { readonly: true });
      const write = writeFile(join(one, "file"), "for both");
      if (mode === "MULTI_NODE_READER_ONLY") await assert.rejects(write, { code: "EROFS" });
      else {
        await write;
        assert.equal(await readFile(join(two, "file"), "utf8"), "for both");
      }
      await assert.rejects(writeFile(join(two, "file"), "no"), { code: "EROFS" });
      for (const target of [one, two]) await volume.unpublish(target);
      const confirmed = await driver.controller.validateVolumeCapabilities({
        ...{ volumeId: volume.id, volumeCapabilities },
      });
      assert.equal(confirmed.confirmed?.volumeCapabilities.length, 1, confirmed.message);
      await volume.undo();
      await nothingServed(driver);
    });
  }
}

for (const mode of sample(MODES, { everyday: 1 })) {
  test(`${mode} of a block volume, the driver alone: its device, at several targets`, async () => {
    covers("CSI-072", "CSI-084", "CSI-090");
    const choice: CapabilityChoice = { mode, access: "block" };
    const room = await imaged.controller.getCapacity({ volumeCapabilities: [capability(choice)] });
    assert.ok(room.availableCapacity > 0n);
    const volume = await staged(imaged, `block ${mode}`, { choice });
    const targets = ["one", "two"].map((name) => imaged.path(`block-${mode}-${name}`));
    for (const target of targets) {
      await volume.publish(target);
      assert.equal((await stat(target)).isBlockDevice(), true);
    }
    const { stdout } = await host.exec.run("blockdev", ["--getro", targets[0] ?? ""]);
    assert.equal(stdout.trim(), mode === "MULTI_NODE_READER_ONLY" ? "1" : "0");
    for (const target of targets) await volume.unpublish(target);
    await volume.undo();
  });
}

test("a volume that was asked for with a mode for one node is not used with one for several", async () => {
  const id = await volumeId(imaged, "for one", { size: 16n * MIB });
  const volumeCapability = capability({ mode: "MULTI_NODE_MULTI_WRITER" });
  await fails(
    "INVALID_ARGUMENT",
    imaged.controller.controllerPublishVolume({ volumeId: id, nodeId: NODE, volumeCapability }),
    /MULTI_NODE_MULTI_WRITER is for several nodes/,
  );
  await remove(imaged, id);
});
