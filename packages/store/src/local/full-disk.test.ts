import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { Shelves, shelf, testRegistry } from "../contract/kinds.ts";
import { isStatus } from "../object/status-error.ts";
import { LocalStore } from "./local-store.ts";

const command = promisify(execFile);

test("a full disk refuses writes, loses nothing, and everything works again when there is room", async (t) => {
  assert.equal(process.getuid?.(), 0, "this test mounts a file system: run it as root");
  const folder = await mkdtemp(join(tmpdir(), "mooring-full-"));
  await command("mount", ["-t", "tmpfs", "-o", "size=2m", "mooring-test", folder]);
  const path = join(folder, "store");
  let store = await LocalStore.open({ path, registry: testRegistry() });
  t.after(async () => {
    await store.close();
    await command("umount", [folder]);
    await rmdir(folder);
  });
  const stored: string[] = [];
  const create = async (name: string) => {
    await store.create(Shelves, shelf(name, { filler: "x".repeat(4_000) }));
    stored.push(name);
  };
  let refusal: unknown;
  for (let round = 0; refusal === undefined; round++) {
    const writes = await Promise.allSettled([0, 1, 2, 3].map((i) => create(`s-${round}-${i}`)));
    refusal = writes.find((write) => write.status === "rejected")?.reason;
  }
  assert.ok(isStatus(refusal, "InsufficientStorage"));
  assert.equal(refusal.code, 507);
  assert.match(refusal.message, /no space left on the disk of \S+\/store: .* [KM]iB .* make room there/);
  assert.equal(`the write was not stored: ${store.diskFault("full")}`, refusal.message);
  await command("mount", ["-o", "remount,size=8m", folder]);
  await create("after");
  assert.equal(store.diskFault("full"), undefined);
  const names = async () => (await store.list(Shelves)).items.map(({ metadata }) => metadata.name).sort();
  assert.deepEqual(await names(), [...stored].sort());
  await store.close();
  store = await LocalStore.open({ path, registry: testRegistry() });
  assert.deepEqual(await names(), [...stored].sort());
});
