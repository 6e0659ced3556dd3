import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type Shelf, Shelves, testRegistry } from "../contract/kinds.ts";
import { bundleProgram } from "../testing/bundle-program.ts";
import { howMany } from "../testing/sample.ts";
import { LocalStore } from "./local-store.ts";

const writer = await bundleProgram(new URL("../testing/crash-writer.ts", import.meta.url));
after(writer.remove);

/** Where a kill may find a writer: after which of its acknowledgements, or before that of a write that is on disk. */
const PLACES = ["new", "changed", "deleted", "unacknowledged"] as const;
/** How often a kill has to find one at each of them. */
const TIMES = howMany({ everyday: 1, full: 5, deep: 50 });
/** Kills come after so many acknowledgements at the latest: enough for writers to be anywhere. */
const MOST_LINES = 100;
/** Milliseconds for each time. */
const PATIENCE_MS = 60_000;

/** Runs the writer, kills it when so many lines have come, and returns those that arrived. */
async function killedWriter(folder: string, round: number, lines: number): Promise<string[]> {
  const child = spawn(process.execPath, [writer.path, folder, String(round)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  let output = "";
  child.stdout.setEncoding("utf8");
  const arrived = new Promise<boolean>((resolve) => {
    child.stdout.on("data", (chunk: string) => {
      output += chunk;
      if (output.split("\n").length > lines) resolve(true);
    });
    void closed.then(() => resolve(false));
  });
  if (round === 0) {
    await once(child.stdout, "data");
    const opening = LocalStore.open({ path: folder, registry: testRegistry() });
    await assert.rejects(opening, new RegExp(`in use by process ${child.pid}`));
  }
  assert.ok(await arrived, "the writer must come up again after every kill, and write");
  child.kill("SIGKILL");
  await closed;
  // The last line may be half a line.
  return output
    .slice(0, output.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((line) => line !== "");
}

interface Acknowledged {
  state: string;
  revision: number;
}

/**
 * Checks what was acknowledged before a kill against what is there. Returns what is there beyond it, of writers that were one
 * write further: that stays from now on.
 */
function beyond(
  acknowledged: ReadonlyMap<string, Acknowledged>,
  shelves: readonly Shelf[],
): [string, Acknowledged][] {
  const present = new Map(
    shelves.map(({ metadata, data }): [string, Acknowledged] => [
      metadata.name,
      { state: data?.["state"] ?? "", revision: Number(metadata.resourceVersion) },
    ]),
  );
  const further = [...present].filter(([name]) => !acknowledged.has(name));
  for (const [name, { state, revision }] of acknowledged) {
    const found = present.get(name);
    if (state === "deleted") assert.equal(found, undefined, name);
    else if (found === undefined) {
      assert.ok(state === "changed" && Number(name.split("-").at(-1)) % 3 === 0, `${name} is lost`);
      further.push([name, { state: "deleted", revision: 0 }]);
    } else {
      assert.ok(found.revision >= revision, `${name} is older than acknowledged`);
      if (found.revision > revision) further.push([name, found]);
    }
  }
  return further;
}

test("what was acknowledged before a kill -9 is there afterwards, wherever the kill has come", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-store-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const acknowledged = new Map<string, Acknowledged>();
  const met = new Map<string, number>(PLACES.map((place) => [place, 0]));
  const rarest = () => Math.min(...met.values());
  const deadline = performance.now() + PATIENCE_MS * TIMES;
  let newest = 0;
  for (let round = 0; rarest() < TIMES; round++) {
    const found = [...met].map(([place, times]) => `${place} ${times}`).join(", ");
    assert.ok(performance.now() < deadline, `after ${round} kills not everywhere: ${found}`);
    const last = new Map<string, string>();
    for (const line of await killedWriter(folder, round, 1 + Math.floor(Math.random() * MOST_LINES))) {
      const [name = "", state = "", revision = ""] = line.split(" ");
      acknowledged.set(name, { state, revision: Number(revision) });
      last.set(name.slice(0, name.lastIndexOf("-")), state);
      newest = Math.max(newest, Number(revision));
    }
    const store = await LocalStore.open({ path: folder, registry: testRegistry() });
    assert.ok(Number(store.resourceVersion) >= newest, "revisions never go back");
    const further = beyond(acknowledged, (await store.list(Shelves)).items);
    await store.close();
    for (const [name, state] of further) acknowledged.set(name, state);
    const places = new Set(last.values());
    if (further.length > 0) places.add("unacknowledged");
    for (const place of places) met.set(place, (met.get(place) ?? 0) + 1);
  }
});
