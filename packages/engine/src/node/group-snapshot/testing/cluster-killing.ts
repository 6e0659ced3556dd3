import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, type TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import { armFailpoint, mutate } from "@mooring/store";
import { bundleProgram, startTestApiServer } from "@mooring/store/testing";
import { type GroupSnapshot, GroupSnapshots } from "../../../api/group-snapshot.ts";
import { NodeAgents } from "../../../api/node-agent.ts";
import { Snapshots } from "../../../api/snapshot.ts";
import { until } from "../../../testing/agent.ts";
import { Cluster, type ClusterPool } from "../../../testing/cluster.ts";
import { reportNode } from "../../../testing/report-node.ts";
import { findLeaks } from "../../leaks/find-leaks.ts";
import { requirePrefix, startWriter, type Writer } from "./ordered-blocks.ts";
import { gone, groupObject } from "./story.ts";
import { type Access, controlGroup, useVolume } from "./use-volume.ts";

const writer = await bundleProgram(new URL("./ordered-writer.ts", import.meta.url));
after(writer.remove);
const child = await bundleProgram(new URL("./cluster-child.ts", import.meta.url));
after(child.remove);

export type Part = "agent" | "coordinator";

/** One member on node `a`, and one on node `z`, whose agent may be killed. */
export interface Scene {
  near: ClusterPool;
  far: ClusterPool;
  access: Access;
}

export interface Stage {
  cluster: Cluster;
  scene: Scene;
  files: string[];
  running: Writer;
}

export interface Killing {
  scene: Scene;
  part: Part;
  failpoint: string;
  deadlineSeconds: number;
  /** Before the group is asked for. */
  before?(stage: Stage): Promise<unknown>;
  /** Between the death and the new life. */
  meanwhile(stage: Stage): Promise<unknown>;
}

const poolsOf = ({ near, far }: Scene): ClusterPool[] => [near, far];

async function setUp(t: TestContext, scene: Scene): Promise<Stage> {
  const cluster = await Cluster.open(t, poolsOf(scene));
  const files: string[] = [];
  for (const [index, { name, node }] of poolsOf(scene).entries())
    files.push(await useVolume(cluster, `v-${index}`, name, { access: scene.access, node }));
  const group = scene.access === "raw" ? await controlGroup(t) : undefined;
  return { cluster, scene, files, running: await startWriter(writer.path, files, group) };
}

const stop = (cluster: Cluster, part: Part): Promise<void> =>
  part === "agent" ? cluster.stopNode("z") : cluster.stopCoordinator();
const start = (cluster: Cluster, part: Part): Promise<void> =>
  part === "agent" ? cluster.startNode("z") : cluster.startCoordinator();

/** The part, in a process that dies at the failpoint. */
async function startMortal({ cluster, scene }: Stage, { part, failpoint }: Killing, url: string) {
  const { name, type, shared } = scene.far;
  const pool = [name, type, ...(shared === true ? [cluster.sharedFolder(name)] : [])];
  const args = part === "agent" ? ["agent", url, join(cluster.dir, "z"), "z", ...pool] : [part, url];
  const life: ChildProcess = spawn(process.execPath, [child.path, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, MOORING_FAILPOINT: `engine/group-snapshot/${failpoint}` },
  });
  assert.ok(life.stdout);
  await Promise.race([once(life.stdout, "data"), once(life, "exit")]);
  return life;
}

function group(scene: Scene, deadlineSeconds: number): GroupSnapshot {
  const object = groupObject("g", [], { deadlineSeconds });
  object.spec.members = poolsOf(scene).map(({ name }, index) => ({
    ...{ volume: `v-${index}`, snapshot: `s-${index}`, pool: name },
  }));
  return object;
}

/** Each file system takes writes of its own, and the writer over both comes forward. */
export async function writersGoOn({ cluster, scene, files, running }: Stage): Promise<void> {
  for (const file of scene.access === "mounted" ? files : []) {
    const script = 'echo alive >"$1/alive" && sync "$1/alive"';
    await cluster.host.exec.run("timeout", ["60", "sh", "-c", script, "sh", dirname(file)]);
  }
  for (let step = 0; step < 20; step++) await running.goesOn();
}

/** All of the group or nothing of it; and once it is gone, no trace on either node. */
async function requireWhole(stage: Stage, acknowledged: number): Promise<string> {
  const { cluster, scene, running } = stage;
  const { store, host } = cluster;
  const ended = await until(store, GroupSnapshots, "g", ({ status }) =>
    ["ready", "failed"].includes(status?.state ?? ""),
  );
  const images = poolsOf(scene).map(({ name }, index) => cluster.image(`s-${index}`, name));
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
    assert.deepEqual(await notesLeft(join(stateDir, "freezes")), []);
  }
  return ended.status?.state ?? "";
}

/** Notes of freezes; the agent that froze removes it a moment after the writers go on. */
async function notesLeft(folder: string): Promise<string[]> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const names = await readdir(folder).catch(() => []);
    if (names.length === 0 || performance.now() > deadline) return names;
    await setTimeout(20);
  }
}

/** Node z has no agent, and the observer of nodes has seen it. */
export async function silence({ cluster }: Stage): Promise<void> {
  await cluster.stopNode("z");
  const report = { change: reportNode("Suspect"), subresource: "status" } as const;
  await mutate(cluster.store, NodeAgents, { name: "z" }, report);
}

/** A group snapshot that no kill interrupts, and whose node z comes late; the failpoints that were passed. */
export async function live(t: TestContext, scene: Scene): Promise<string[]> {
  const stage = await setUp(t, scene);
  const { cluster, running } = stage;
  try {
    await silence(stage);
    const passed = armFailpoint(undefined);
    const acknowledged = running.acknowledged();
    await cluster.store.create(GroupSnapshots, group(scene, 60));
    await until(cluster.store, GroupSnapshots, "g", ({ status }) => status?.error !== undefined);
    await cluster.startNode("z");
    assert.equal(await requireWhole(stage, acknowledged), "ready");
    return passed;
  } finally {
    await running.stop();
  }
}

/** A group snapshot in which a part is killed, and starts again; how it ended: `ready` or `failed`. */
export async function kill(t: TestContext, killing: Killing): Promise<string> {
  const { scene, part, deadlineSeconds, before, meanwhile } = killing;
  const stage = await setUp(t, scene);
  const { cluster, running } = stage;
  const { url } = await startTestApiServer(cluster, cluster.store);
  await stop(cluster, part);
  const mortal = await startMortal(stage, killing, url);
  const died = once(mortal, "exit");
  const patience = globalThis.setTimeout(() => mortal.kill("SIGTERM"), 90_000);
  try {
    await before?.(stage);
    const acknowledged = running.acknowledged();
    await cluster.store.create(GroupSnapshots, group(scene, deadlineSeconds));
    assert.deepEqual(await died, [null, "SIGKILL"], "the failpoint was not reached");
    await meanwhile(stage);
    await start(cluster, part);
    return await requireWhole(stage, acknowledged);
  } finally {
    clearTimeout(patience);
    mortal.kill("SIGKILL");
    await running.stop();
  }
}
