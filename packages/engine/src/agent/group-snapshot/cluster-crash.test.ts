import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { bundleProgram, startTestApiServer } from "@mooring/store/testing";
import { type GroupSnapshot, GroupSnapshots } from "../../api/group-snapshot.ts";
import { Snapshots } from "../../api/snapshot.ts";
import { until } from "../../testing/agent.ts";
import { Cluster, type ClusterPool } from "../../testing/cluster.ts";
import { findLeaks } from "../leaks/find-leaks.ts";
import { layOut, requirePrefix, startWriter, type Writer } from "./testing/ordered-blocks.ts";
import { gone, groupObject, mountVolume } from "./testing/story.ts";

const writer = await bundleProgram(new URL("./testing/ordered-writer.ts", import.meta.url));
after(writer.remove);
const child = await bundleProgram(new URL("./testing/cluster-child.ts", import.meta.url));
after(child.remove);

const POOLS: readonly ClusterPool[] = [
  { name: "near", type: "xfs", node: "a" },
  { name: "far", type: "xfs", node: "z" },
];
const VOLUMES: readonly string[] = ["near", "far"];
type Part = "agent" | "coordinator";

/** Long enough for a part to come back before anybody gives up, on any machine. */
const PATIENT = 60;

interface Stage {
  cluster: Cluster;
  files: string[];
  running: Writer;
}

async function setUp(t: TestContext): Promise<Stage> {
  const cluster = await Cluster.open(t, POOLS);
  const files: string[] = [];
  for (const pool of VOLUMES) {
    await cluster.volume(`v-${pool}`, pool);
    const file = join(await mountVolume(cluster, `v-${pool}`, cluster.nodeOf(pool)), "ordered");
    await layOut(file);
    files.push(file);
  }
  return { cluster, files, running: await startWriter(writer.path, files) };
}

const stop = (cluster: Cluster, part: Part): Promise<void> =>
  part === "agent" ? cluster.stopNode("z") : cluster.stopCoordinator();
const start = (cluster: Cluster, part: Part): Promise<void> =>
  part === "agent" ? cluster.startNode("z") : cluster.startCoordinator();

/** The part, in a process that dies in the gap. */
async function startMortal(cluster: Cluster, part: Part, url: string, gap: string): Promise<ChildProcess> {
  const args = part === "agent" ? ["agent", url, join(cluster.dir, "z"), "z", "far", "xfs"] : [part, url];
  const life = spawn(process.execPath, [child.path, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, MOORING_FAILPOINT: `engine/group-snapshot/${gap}` },
  });
  assert.ok(life.stdout);
  await Promise.race([once(life.stdout, "data"), once(life, "exit")]);
  return life;
}

function group(deadlineSeconds: number): GroupSnapshot {
  const object = groupObject("g", [], { deadlineSeconds });
  object.spec.members = VOLUMES.map((pool) => ({ volume: `v-${pool}`, snapshot: `s-${pool}`, pool }));
  return object;
}

/** Each file system takes writes of its own, and the writer over both comes forward. */
async function writersGoOn({ cluster, files, running }: Stage): Promise<void> {
  for (const file of files) {
    const script = 'echo alive >"$1/alive" && sync "$1/alive"';
    await cluster.host.exec.run("timeout", ["60", "sh", "-c", script, "sh", dirname(file)]);
  }
  for (let step = 0; step < 20; step++) await running.goesOn();
}

/** All of the group or nothing of it; and once it is gone, no trace on either node. */
async function requireWhole(stage: Stage, acknowledged: number): Promise<string> {
  const { cluster, running } = stage;
  const { store, host } = cluster;
  const ended = await until(store, GroupSnapshots, "g", ({ status }) =>
    ["ready", "failed"].includes(status?.state ?? ""),
  );
  const images = VOLUMES.map((pool) => cluster.image(`s-${pool}`, pool));
  if (ended.status?.state === "ready") {
    assert.equal(ended.status.readyToUse, true);
    await requirePrefix(images, acknowledged);
  } else {
    assert.ok(ended.status?.error?.message, "it says why");
    assert.deepEqual((await store.list(Snapshots)).items, []);
    assert.deepEqual(images.filter(existsSync), []);
  }
  await writersGoOn(stage);
  await gone(store, GroupSnapshots, "g");
  assert.deepEqual((await store.list(Snapshots)).items, []);
  await running.stop();
  for (const nodeID of ["a", "z"]) {
    const stateDir = join(cluster.dir, nodeID);
    assert.deepEqual(await findLeaks({ store, host, stateDir, nodeID }), []);
    assert.deepEqual(await readdir(join(stateDir, "freezes")).catch(() => []), []);
  }
  return ended.status?.state ?? "";
}

interface Killing {
  part: Part;
  gap: string;
  deadlineSeconds: number;
  /** Between the death and the new life. */
  meanwhile(stage: Stage): Promise<unknown>;
}

async function kill(t: TestContext, { part, gap, deadlineSeconds, meanwhile }: Killing): Promise<string> {
  const stage = await setUp(t);
  const { cluster, running } = stage;
  const { url } = await startTestApiServer(t, cluster.store);
  await stop(cluster, part);
  const mortal = await startMortal(cluster, part, url, gap);
  const died = once(mortal, "exit");
  const patience = setTimeout(() => mortal.kill("SIGTERM"), 90_000);
  try {
    const acknowledged = running.acknowledged();
    await cluster.store.create(GroupSnapshots, group(deadlineSeconds));
    assert.deepEqual(await died, [null, "SIGKILL"], "the gap was not passed");
    await meanwhile(stage);
    await start(cluster, part);
    return await requireWhole(stage, acknowledged);
  } finally {
    clearTimeout(patience);
    mortal.kill("SIGKILL");
    await running.stop();
  }
}

const PATIENTLY: readonly [Part, string][] = [
  ["agent", "reported-prepared"],
  ["agent", "quiesced"],
  ["agent", "reported-quiesced"],
  ["agent", "cut"],
  ["agent", "reported-cut"],
  ["agent", "released"],
  ["agent", "finished"],
  ["agent", "reported-done"],
  ["coordinator", "recorded-preparing"],
  ["coordinator", "recorded-quiescing"],
  ["coordinator", "recorded-cutting"],
  ["coordinator", "recorded-releasing"],
  ["coordinator", "recorded-committed"],
];

for (const [part, gap] of PATIENTLY) {
  test(`two nodes: ${part} killed at ${gap} and back in time, the group snapshot is finished, of one moment`, async (t) => {
    const state = await kill(t, { part, gap, deadlineSeconds: PATIENT, meanwhile: async () => {} });
    assert.equal(state, "ready");
  });
}

/** Where others wait, keeping still, for the one that was killed; `done`: where they have been told to go on. */
const ALONE: readonly [Part, string, "done" | "failed"][] = [
  ["agent", "quiesced", "failed"],
  ["agent", "reported-quiesced", "failed"],
  ["agent", "cut", "failed"],
  ["agent", "reported-cut", "done"],
  ["coordinator", "recorded-quiescing", "failed"],
  ["coordinator", "recorded-cutting", "failed"],
  ["coordinator", "recorded-releasing", "done"],
];

for (const [part, gap, phase] of ALONE) {
  test(`two nodes: ${part} killed at ${gap} and not back, all writers go on by the deadline, the group is whole or nothing`, async (t) => {
    const survivors = part === "agent" ? ["a"] : ["a", "z"];
    const state = await kill(t, {
      ...{ part, gap, deadlineSeconds: 10 },
      meanwhile: async (stage) => {
        await until(stage.cluster.store, GroupSnapshots, "g", ({ status }) =>
          survivors.every((node) => status?.nodes?.[node]?.phase === phase),
        );
        await writersGoOn(stage);
      },
    });
    assert.equal(state, phase === "done" ? "ready" : "failed");
  });
}
