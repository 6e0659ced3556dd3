import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Shelves, testRegistry } from "../contract/kinds.ts";
import { bundleProgram } from "../testing/bundle-program.ts";
import { currentPart } from "../testing/sample.ts";
import { LocalStore } from "./local-store.ts";

const writer = await bundleProgram(new URL("../testing/crash-writer.ts", import.meta.url));
after(writer.remove);
const ROUNDS = { everyday: 5, rest: 20, all: 20, deep: 200 }[currentPart()];

/** Runs the writer, kills it some time after its first write, and returns the lines that arrived. */
async function killedWriter(folder: string, round: number): Promise<string[]> {
  const child = spawn(process.execPath, [writer.path, folder, String(round)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.stdout.setEncoding("utf8");
  let output = "";
  child.stdout.on("data", (chunk: string) => {
    output += chunk;
  });
  const closed = once(child, "close");
  const started = await Promise.race([once(child.stdout, "data").then(() => true), closed.then(() => false)]);
  assert.ok(started, "the writer must come up again after every kill");
  if (round === 0) {
    const opening = LocalStore.open({ path: folder, registry: testRegistry() });
    await assert.rejects(opening, new RegExp(`in use by process ${child.pid}`));
  }
  await sleep(Math.random() * 150);
  child.kill("SIGKILL");
  await closed;
  // The last line may be half a line.
  return output
    .slice(0, output.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((line) => line !== "");
}

test("what was acknowledged before a kill -9 is there afterwards", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-store-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const acknowledged = new Map<string, { state: string; revision: number }>();
  let newest = 0;
  for (let round = 0; round < ROUNDS; round++) {
    for (const line of await killedWriter(folder, round)) {
      const [name = "", state = "", revision = ""] = line.split(" ");
      acknowledged.set(name, { state, revision: Number(revision) });
      newest = Math.max(newest, Number(revision));
    }
    const store = await LocalStore.open({ path: folder, registry: testRegistry() });
    const present = new Map((await store.list(Shelves)).items.map((item) => [item.metadata.name, item]));
    assert.ok(Number(store.resourceVersion) >= newest, "revisions never go back");
    for (const [name, { state, revision }] of acknowledged) {
      const object = present.get(name);
      // The writer may have been one unacknowledged write further.
      if (state === "deleted") assert.equal(object, undefined, name);
      else if (object === undefined)
        assert.ok(state === "changed" && Number(name.split("-").at(-1)) % 3 === 0, `${name} is lost`);
      else
        assert.ok(Number(object.metadata.resourceVersion) >= revision, `${name} is older than acknowledged`);
    }
    await store.close();
  }
  assert.ok(acknowledged.size > ROUNDS);
});
