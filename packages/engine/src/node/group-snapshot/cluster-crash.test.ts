import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { describe, test } from "node:test";
import { failpointNames } from "@mooring/store";
import { killEveryFailpoint, thorough } from "@mooring/store/testing";
import { GroupSnapshots } from "../../api/group-snapshot.ts";
import { until } from "../../testing/agent.ts";
import type { ClusterPool } from "../../testing/cluster.ts";
import {
  kill,
  live,
  type Part,
  type Scene,
  type Stage,
  silence,
  writersGoOn,
} from "./testing/cluster-killing.ts";
import { OF_NODES } from "./testing/of-nodes.ts";

/** Long enough for a part to come back before anybody gives up, on any machine. */
const PATIENT = 60;

const near: ClusterPool = { name: "near", type: "xfs", node: "a" };
const far: ClusterPool = { name: "far", type: "xfs", node: "z" };
const common: ClusterPool = { name: "common", type: "xfs", node: "a", shared: true };
const XFS: Scene = { near, far, access: "mounted" };
const BTRFS = { near: { ...near, type: "btrfs" }, far: { ...far, type: "btrfs" } } as const;
const OTHERS: Readonly<Record<string, Scene>> = {
  "raw devices": { near, far, access: "raw" },
  "btrfs pools": { ...BTRFS, access: "mounted" },
  "raw devices of btrfs pools": { ...BTRFS, access: "raw" },
  "a shared pool": { near: common, far: { ...common, node: "z" }, access: "mounted" },
};

const PATIENTLY: readonly [Part, string][] = [
  ["agent", "report-prepared"],
  ["agent", "quiesced"],
  ["agent", "quiesce"],
  ["agent", "report-quiesced"],
  ["agent", "copied"],
  ["agent", "copy"],
  ["agent", "report-cut"],
  ["agent", "released"],
  ["agent", "release"],
  ["agent", "report-done"],
  ["coordinator", "record-preparing"],
  ["coordinator", "record-quiescing"],
  ["coordinator", "record-cutting"],
  ["coordinator", "record-releasing"],
  ["coordinator", "record-committed"],
];

function backInTime(what: string, scene: Scene, part: Part, failpoint: string): void {
  test(`${what}: ${part} killed at ${failpoint} and back in time, the group snapshot is finished, of one moment`, async (t) => {
    const killing = { scene, part, failpoint, deadlineSeconds: PATIENT, meanwhile: async () => {} };
    assert.equal(await kill(t, killing), "ready");
  });
}

type Phase = "done" | "failed";

/** Where others wait, keeping still, for the one that was killed; `done`: where they have been allowed to go on. */
const ALONE: readonly [Part, string, Phase][] = [
  ["agent", "quiesced", "failed"],
  ["agent", "report-quiesced", "failed"],
  ["agent", "copied", "failed"],
  ["agent", "report-cut", "done"],
  ["coordinator", "record-quiescing", "failed"],
  ["coordinator", "record-cutting", "failed"],
  ["coordinator", "record-releasing", "done"],
];

async function untilPhase(
  { cluster }: Stage,
  part: Part,
  ...phases: (Phase | "quiesced" | "cut")[]
): Promise<void> {
  const survivors = part === "agent" ? ["a"] : ["a", "z"];
  await until(cluster.store, GroupSnapshots, "g", ({ status }) =>
    survivors.every((node) => phases.some((phase) => status?.nodes?.[node]?.phase === phase)),
  );
}

function notBack(what: string, scene: Scene, [part, failpoint, phase]: [Part, string, Phase]): void {
  test(`${what}: ${part} killed at ${failpoint} and not back, all writers go on by the deadline, the group is whole or nothing`, async (t) => {
    const meanwhile = async (stage: Stage): Promise<void> => {
      await untilPhase(stage, part, phase);
      await writersGoOn(stage);
    };
    const state = await kill(t, { scene, part, failpoint, deadlineSeconds: 10, meanwhile });
    assert.equal(state, phase === "done" ? "ready" : "failed");
  });
}

/** False: it has ended meanwhile, as one of two does when the other one was killed. */
function kills(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    return false;
  }
}

/** Kills all processes that keep this mount frozen. */
async function killFreezers(mount: string): Promise<void> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const killed = await Promise.all(
    pids.map(async (pid) => {
      const args = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
      if (!args.includes("mooring-freeze") || !args.includes(mount)) return false;
      return kills(Number(pid));
    }),
  );
  assert.ok(killed.includes(true), "somebody had it frozen");
}

test("a group on two nodes that nobody kills passes every failpoint of its own", thorough(), async (t) => {
  const passed = new Set(await live(t, XFS));
  const names = failpointNames().filter((name) => OF_NODES.test(name));
  assert.deepEqual(
    names.filter((name) => !passed.has(name)),
    [],
  );
  const killed = new Set([...PATIENTLY.map(([, failpoint]) => failpoint), "note"]);
  assert.deepEqual(
    names.filter((name) => !killed.has(name.split("/").at(-1) ?? "")),
    [],
  );
});

// Most of their time is spent in waiting for a deadline.
describe("parts of a barrier that are killed", { concurrency: 4 }, () => {
  const cases: (() => void)[] = [
    ...PATIENTLY.map(
      ([part, failpoint]) =>
        () =>
          backInTime("two nodes", XFS, part, failpoint),
    ),
    ...ALONE.map((killing) => () => notBack("two nodes", XFS, killing)),
    ...Object.entries(OTHERS).flatMap(([what, scene]) => [
      ...["quiesced", "copied", "release"].map(
        (failpoint) => () => backInTime(`two nodes, ${what}`, scene, "agent", failpoint),
      ),
      () => backInTime(`two nodes, ${what}`, scene, "coordinator", "record-cutting"),
      () => notBack(`two nodes, ${what}`, scene, ["agent", "copied", "failed"]),
      () => notBack(`two nodes, ${what}`, scene, ["coordinator", "record-cutting", "failed"]),
    ]),
  ];
  cases.push(() =>
    test("two nodes, one silent: coordinator killed at note, and the group snapshot is finished when the node is back", async (t) => {
      const killing = { scene: XFS, part: "coordinator", failpoint: "note", before: silence } as const;
      const meanwhile = ({ cluster }: Stage) => cluster.startNode("z");
      assert.equal(await kill(t, { ...killing, deadlineSeconds: PATIENT, meanwhile }), "ready");
    }),
  );
  killEveryFailpoint(cases, { everyday: 1, full: 13 }, (declare) => declare());

  test("two nodes: the freezing process killed inside the barrier, its agent lets the writers go on by the deadline, the group fails whole", async (t) => {
    const meanwhile = async (stage: Stage): Promise<void> => {
      // The coordinator had the other node copy as soon as both were still.
      await untilPhase(stage, "agent", "quiesced", "cut");
      await killFreezers(dirname(stage.files[0] ?? ""));
      await untilPhase(stage, "agent", "failed");
      await writersGoOn(stage);
    };
    const killing = { scene: XFS, part: "agent", failpoint: "report-quiesced", meanwhile } as const;
    assert.equal(await kill(t, { ...killing, deadlineSeconds: 10 }), "failed");
  });
});
