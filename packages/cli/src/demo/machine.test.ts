import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { remains } from "./machine.ts";

const run = (program: string, ...args: string[]) => execFileSync(program, args, { encoding: "utf8" }).trim();

test("what is mounted or attached is told; what a stranger's copy of our mounts keeps is not ours any more", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-remains-"));
  const undo: (() => void)[] = [];
  t.after(async () => {
    for (const each of undo.reverse()) each();
    await rm(folder, { recursive: true });
  });
  const [image, mount] = [join(folder, "image"), join(folder, "mnt")];
  await mkdir(mount);
  run("truncate", "--size=8M", image);
  run("mkfs.ext4", "-q", image);
  const device = run("losetup", "--find", "--show", image);
  undo.push(() => execFileSync("sh", ["-c", `losetup --detach ${device} 2>/dev/null || true`]));
  run("mount", device, mount);
  undo.push(() => execFileSync("sh", ["-c", `umount ${mount} 2>/dev/null || true`]));
  assert.deepEqual(await remains(folder), { mounts: [mount], loops: [device], processes: [] });

  const stranger = spawn("unshare", ["--mount", "sh", "-c", "echo there; exec sleep 1000"]);
  const gone = new Promise((resolve) => stranger.once("close", resolve));
  undo.push(() => stranger.kill("SIGKILL"));
  await new Promise((resolve) => stranger.stdout.once("data", resolve));
  run("umount", mount);
  assert.deepEqual(await remains(folder), { mounts: [], loops: [device], processes: [] });
  run("losetup", "--detach", device);
  assert.deepEqual(await remains(folder), { mounts: [], loops: [], processes: [] });
  stranger.kill("SIGKILL");
  await gone;
});
