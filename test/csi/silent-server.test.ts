import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { type TestContext, test } from "node:test";
import { TOPOLOGY_NODE_KEY } from "@mooring/engine";
import { eventually } from "@mooring/store/testing";
import { host } from "./support/driver.ts";
import { startTwoNodes } from "./support/two-nodes.ts";
import { capability, fails, failureOf, MIB } from "./support/volumes.ts";

const world = await startTwoNodes();
const { controller } = world.controller;
const { node } = world.nodes["node-2"];

/**
 * Mounts a file system of whose server nothing was ever heard: no process reads the kernel's requests, so every call that
 * needs a response waits until the mount is given up. Stands for a hard NFS mount whose server is gone.
 */
function mountSilent(t: TestContext, target: string): () => Promise<void> {
  const server = openSync("/dev/fuse", "r+");
  let open = true;
  // With its device closed everything that waits gets an error: not by a thread of a pool that is stuck.
  const giveUp = () => {
    if (open) closeSync(server);
    open = false;
  };
  t.after(giveUp);
  const options = "fd=3,rootmode=40000,user_id=0,group_id=0,allow_other";
  const { status, stderr } = spawnSync("mount", ["-i", "-t", "fuse", "-o", options, "silent", target], {
    stdio: ["ignore", "ignore", "pipe", server],
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  return async () => {
    giveUp();
    await host.exec.run("umount", [target]);
  };
}

/** How many programs ask for the path. */
async function asking(path: string): Promise<number> {
  const processes = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    processes.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return lines.filter((line) => line.startsWith("stat\0") && line.includes(path)).length;
}

test("statistics and health of a volume whose server is silent return what is stuck, and delay nothing else", {
  timeout: 300_000,
}, async (t) => {
  const volumeCapability = capability({ mode: "MULTI_NODE_MULTI_WRITER" });
  const { volume } = await controller.createVolume({
    ...{ name: "silent", capacityRange: { requiredBytes: 16n * MIB } },
    volumeCapabilities: [volumeCapability],
    accessibilityRequirements: { requisite: [{ segments: { [TOPOLOGY_NODE_KEY]: "node-2" } }] },
  });
  const volumeId = volume?.volumeId ?? "";
  await controller.controllerPublishVolume({ volumeId, nodeId: "node-2", volumeCapability });
  const [stagingTargetPath, targetPath] = [world.path("staging"), world.path("target")];
  await mkdir(stagingTargetPath);
  const stage = { volumeId, stagingTargetPath, volumeCapability };
  await node.nodeStageVolume(stage);
  await node.nodePublishVolume({ ...stage, targetPath });
  const stats = () => node.nodeGetVolumeStats({ volumeId, volumePath: targetPath });
  const before = await stats();
  assert.equal(before.usage.length, 2);
  for (const { total, used, available } of before.usage)
    assert.ok(total > 0n && used >= 0n && available > 0n && used + available <= total);

  const respondAgain = mountSilent(t, targetPath);
  // More than there are threads for the file work of this process, in which the node service runs.
  const calls = Array.from({ length: 8 }, () => failureOf(stats()));
  await eventually("a program to ask", async () => (await asking(targetPath)) > 0);
  assert.equal(await asking(targetPath), 1, "one asks for all");
  for (const { code, message } of await Promise.all(calls)) {
    assert.equal(code, "UNAVAILABLE", message);
    assert.ok(message.includes(targetPath), message);
  }
  await fails("UNAVAILABLE", stats(), /has not responded for 5 s/);
  const { volumeHealth } = await node.nodeGetVolumeHealth({ volumeId });
  assert.match(JSON.stringify(volumeHealth), /ServerSilent/);

  await respondAgain();
  await eventually("the programs that asked to end", async () => (await asking(targetPath)) === 0);
  assert.deepEqual(
    (await stats()).usage.map(({ total }) => total),
    before.usage.map(({ total }) => total),
  );
  assert.deepEqual((await node.nodeGetVolumeHealth({ volumeId })).volumeHealth?.healthStatuses, []);
  await node.nodeUnpublishVolume({ volumeId, targetPath });
  await fails("NOT_FOUND", stats(), /is not at/);
  await node.nodeUnstageVolume({ volumeId, stagingTargetPath });
  await controller.controllerUnpublishVolume({ volumeId, nodeId: "node-2" });
  await controller.deleteVolume({ volumeId });
});
