import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "@mooring/store";
import { remains } from "./machine.ts";

const run = (program: string, ...args: string[]) => execFileSync(program, args, { encoding: "utf8" }).trim();

/**
 * Has copies of our mounts for as long as it lives; of those of other tests, who wait for that, it releases them.
 * $0: where tests have their mounts; $1: our folder; $2: the control group that it joins, or nothing.
 */
const ONLOOKER = `
[ -z "$2" ] || echo 0 >"$2/cgroup.procs"
exec unshare --mount sh -c '
  awk -v others="$0/" -v own="$1/" "index(\\$5, others) == 1 && index(\\$5, own) != 1 { print \\$5 }" \
    /proc/self/mountinfo | tac | xargs -r umount --lazy 2>/dev/null
  echo there
  exec sleep 1000
' "$0" "$1"
`;

/** A device with a file system, mounted below a new folder. What `undo` has is done after the test, the last first. */
async function mounted(t: TestContext) {
  const undo: (() => unknown)[] = [];
  t.after(async () => {
    for (const each of undo.reverse()) await each();
  });
  const folder = await mkdtemp(join(tmpdir(), "mooring-remains-"));
  undo.push(() => rm(folder, { recursive: true }));
  const [image, mount] = [join(folder, "image"), join(folder, "mnt")];
  await mkdir(mount);
  run("truncate", "--size=8M", image);
  run("mkfs.ext4", "-q", image);
  const device = run("losetup", "--find", "--show", image);
  let attached = true;
  // Once: afterwards the number may be somebody else's.
  const detach = (): void => {
    if (attached) run("losetup", "--detach", device);
    attached = false;
  };
  undo.push(detach);
  run("mount", device, mount);
  undo.push(() => run("sh", "-c", `umount ${mount} 2>/dev/null || true`));

  /** Resolves when it has its mounts. */
  async function onlooker(group = "") {
    const child = spawn("sh", ["-c", ONLOOKER, tmpdir(), folder, group]);
    const gone = new Promise((resolve) => child.once("close", resolve));
    const end = async (): Promise<void> => {
      child.kill("SIGKILL");
      await gone;
    };
    undo.push(end);
    await new Promise((resolve) => child.stdout.once("data", resolve));
    // It says so as a shell, and is another program a moment later.
    const line = `${child.pid} sleep 1000`;
    const commandLine = `/proc/${child.pid}/cmdline`;
    await eventually(line, async () => (await readFile(commandLine, "utf8")) === "sleep\x001000\x00", {
      withinMs: 10_000,
    });
    return { end, line };
  }

  /** The control group of a container, where the runtime of standalone has those of that state folder. */
  async function containerGroup(stateDir: string): Promise<string> {
    const digest = createHash("sha256").update(join(stateDir, "kubelet")).digest("hex");
    const unified = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
    const hierarchy = unified.find((path) => existsSync(join(path, "cgroup.controllers")));
    const root = join(hierarchy ?? "/sys/fs/cgroup/freezer", `mooring-${digest.slice(0, 12)}`);
    const group = join(root, "pod");
    await mkdir(group, { recursive: true });
    // A group stays busy for a moment after its last process is gone.
    undo.push(() => run("timeout", "10", "sh", "-c", `until rmdir ${group} ${root}; do sleep 0.1; done`));
    return group;
  }
  return { folder, mount, device, detach, onlooker, containerGroup };
}

test("what is mounted or attached is reported; what another program's copy of our mounts keeps is not ours any more", async (t) => {
  const { folder, mount, device, detach, onlooker } = await mounted(t);
  assert.deepEqual(await remains(folder), { mounts: [mount], loops: [device], processes: [] });
  const foreign = await onlooker();
  run("umount", mount);
  assert.deepEqual(await remains(folder), { mounts: [], loops: [device], processes: [] });
  detach();
  assert.deepEqual(await remains(folder), { mounts: [], loops: [], processes: [] });
  await foreign.end();
});

test("a container of ours that has our mounts is reported; one that another Mooring is just starting is foreign", async (t) => {
  const { folder, mount, device, onlooker, containerGroup } = await mounted(t);
  await onlooker(await containerGroup(`${folder}-other`));
  assert.deepEqual(await remains(folder), { mounts: [mount], loops: [device], processes: [] });
  const ours = await onlooker(await containerGroup(folder));
  assert.deepEqual((await remains(folder)).processes, [ours.line]);
});
