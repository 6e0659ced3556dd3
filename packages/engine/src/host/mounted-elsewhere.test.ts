import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { scratch } from "../testing/scratch.ts";
import { createHost } from "./create-host.ts";
import { mountedElsewhere } from "./mounted-elsewhere.ts";

interface Process {
  namespace: string;
  /** Absent: the process ends before its mounts are read. */
  mounts?: string;
}

/** A /proc with these processes, by their ids. */
async function procOf(t: TestContext, processes: Readonly<Record<string, Process>>): Promise<string> {
  const proc = join(await scratch(t, createHost()), "proc");
  for (const [pid, { namespace, mounts }] of Object.entries(processes)) {
    await mkdir(join(proc, pid, "ns"), { recursive: true });
    await symlink(namespace, join(proc, pid, "ns", "mnt"));
    if (mounts !== undefined) await writeFile(join(proc, pid, "mountinfo"), mounts);
    await writeFile(join(proc, pid, "comm"), `program-${pid}\n`);
  }
  return proc;
}

const MOUNT = "36 35 7:3 / /data rw - ext4 /dev/loop3 rw\n";
const OTHER = "36 35 7:4 / /data rw - ext4 /dev/loop4 rw\n";

test("a mount of another namespace is found although the first process of that namespace has just ended", async (t) => {
  const proc = await procOf(t, {
    self: { namespace: "mnt:[1]", mounts: "" },
    10: { namespace: "mnt:[2]" },
    11: { namespace: "mnt:[2]", mounts: MOUNT },
    12: { namespace: "mnt:[2]", mounts: MOUNT },
  });
  assert.deepEqual(await mountedElsewhere("7:3", proc), ["process 11 (program-11)"]);
});

test("neither the own namespace counts, nor another device", async (t) => {
  const proc = await procOf(t, {
    self: { namespace: "mnt:[1]", mounts: MOUNT },
    10: { namespace: "mnt:[1]", mounts: MOUNT },
    11: { namespace: "mnt:[2]", mounts: OTHER },
  });
  assert.deepEqual(await mountedElsewhere("7:3", proc), []);
});
