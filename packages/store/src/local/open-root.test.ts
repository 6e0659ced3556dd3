import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { bundleProgram } from "../testing/bundle-program.ts";
import { tempFolder } from "../testing/temp-folder.ts";

/** In mounts of its own: a disk of memory at `$DISK`, and a store on it; then the case, and the store once more. */
const inMounts = (then: string) => `
  mount -t tmpfs none "$DISK"
  store() { "$NODE" "$PROGRAM" "$DISK/store"; }
  echo first | store
  ${then}
  echo second | store`;
const noMemory = (room: string) => `mount -t tmpfs -o ${room} none /dev/shm`;
const fillShm = "head -c 1M /dev/zero >/dev/shm/filler 2>&1 || true";
const noInodes = 'mount -o remount,nr_inodes="$(($(stat -f -c "%c - %d" "$DISK")))" "$DISK"';

async function opened(t: TestContext, script: string): Promise<{ ended: string; out: string; err: string }> {
  assert.equal(process.getuid?.(), 0, "this test mounts a file system: run it as root");
  const program = await bundleProgram(new URL("../testing/asked-store.ts", import.meta.url));
  t.after(program.remove);
  const variables = { DISK: await tempFolder(t), NODE: process.execPath, PROGRAM: program.path };
  const child = spawn("unshare", ["--mount", "sh", "-euc", inMounts(script)], {
    ...{ stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...variables } },
  });
  const ended = new Promise<string>((resolve) => {
    child.once("close", (code, signal) => resolve(String(signal ?? code)));
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { ended: await ended, out, err };
}

for (const [what, script] of Object.entries({
  "no block": `${noMemory("size=4k")}; ${fillShm}`,
  "no place for a file": noMemory("nr_inodes=2"),
}))
  test(`a store is opened where the files in memory have ${what}`, async (t) => {
    const { ended, out, err } = await opened(t, script);
    assert.equal(ended, "0", err);
    assert.equal(out, "wrote 1\nwrote 2\n");
  });

test("where the table of readers has no place at all the error names it", async (t) => {
  const { ended, out, err } = await opened(t, `${noMemory("nr_inodes=2")}; ${noInodes}`);
  assert.equal(ended, "1", err);
  assert.equal(out, "wrote 1\n");
  assert.match(err, /store\/store\.mdb-lock cannot be written: its disk has no inodes left \(ENOSPC\)/);
});
