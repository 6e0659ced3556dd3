import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { getIfAny, LocalStore } from "@mooring/store";
import { VolumeGroupReverts } from "../../../packages/engine/src/api/group-revert.ts";
import { NAMESPACE } from "../../../packages/engine/src/cluster/group-revert/testing/group.ts";
import { createHost } from "../../../packages/engine/src/host/create-host.ts";
import { findLeaks } from "../../../packages/engine/src/node/leaks/find-leaks.ts";
import { engineRegistry, NODE, POOL } from "../../../packages/engine/src/testing/agent.ts";
import { evaluate } from "./records.ts";
import { type Seen, sumOf } from "./revert-workload.ts";
import { startRing } from "./ring.ts";
import { readRecordsAt } from "./volume-set.ts";

/** One revert of all volumes, in two lives of a node. The first is killed at `failpoint`, or ends when all is done. */
export interface Round {
  pool: "xfs" | "btrfs";
  volumes: number;
  number: number;
  failpoint?: string;
  part: "begin" | "end";
  /** `apart`: every volume by itself, one after the other, as a control. */
  way: "together" | "apart";
}

/** What a round came to. */
export interface Outcome {
  killed: boolean;
  /** Failpoints that a life passed that was not killed, from when the revert was asked for. */
  passed: string[];
  /** As text; empty is what has to be. */
  violations: string[];
  /** What workloads saw after the kill: how many times the records from before the revert, and those of the snapshot. */
  reads: { before: number; after: number };
}

/** Sums of the records of each volume: in the group snapshot, and when the writers had left. */
interface Expected {
  old: string[];
  new: string[];
}

export const volumesOf = ({ volumes }: Round): string[] =>
  Array.from({ length: volumes }, (_, index) => `v-p-${index + 1}`);
export const snapshotOf = ({ number }: Round, volume: string): string => `s-p-${number}-${volume.slice(4)}`;

const imageOf = (dir: string, id: string) => join(dir, "state", "pools", POOL, "mnt", "images", `${id}.img`);

/** Plays it in a folder that rounds before may have left their volumes in. `program`: the bundled `revert-life.ts`. */
export async function playRound(program: string, dir: string, round: Round): Promise<Outcome> {
  const violations: string[] = [];
  const { expected, passed, end } = await live(program, dir, { ...round, part: "begin" }, async (life) => ({
    expected: await write(life, dir, round, violations),
    passed: (await life.response<{ passed: string[] }>())?.passed ?? [],
    end: await life.ended,
  }));
  const killed = end === "SIGKILL";
  if (!killed && end !== 0) violations.push(`the first life ended with ${end}`);
  if (killed && round.way === "together") violations.push(...(await atRest(dir, round, expected)));
  const seen = await live(program, dir, { ...round, part: "end" }, async (life) => {
    const received = await life.response<{ seen: Seen[] }>();
    const code = await life.ended;
    if (code !== 0) violations.push(`the life after the kill ended with ${code}`);
    return received?.seen ?? [];
  });
  const { wrong, reads } = checkSeen(round, expected, seen);
  violations.push(...wrong, ...(await leaks(dir)));
  return { killed, passed, violations, reads };
}

/** Records under ordered writers, a group snapshot among them. */
async function write(life: Life, dir: string, round: Round, violations: string[]): Promise<Expected> {
  const { devices = [] } = (await life.received<{ devices: string[] }>()) ?? {};
  // The rounds before have left records.
  const { last } = evaluate(await Promise.all(devices.map(readRecordsAt)), 0);
  const ring = await startRing(
    devices.map((path) => ({ path, node: NODE })),
    Math.min(...last),
  );
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= ring.stop();
    return stopped;
  };
  try {
    await ring.advance(20);
    const acknowledged = ring.acknowledged();
    life.goOn();
    await life.received();
    const snapshots = volumesOf(round).map((volume) => imageOf(dir, snapshotOf(round, volume)));
    const old = await Promise.all(snapshots.map(readRecordsAt));
    violations.push(...evaluate(old, acknowledged).violations);
    await ring.advance(5);
    await stop();
    const present = await Promise.all(devices.map(readRecordsAt));
    violations.push(...evaluate(present, ring.acknowledged()).violations);
    if (present.some((records, volume) => records.equals(old[volume] ?? records)))
      violations.push("the writers wrote nothing after the group snapshot");
    life.goOn();
    return { old: old.map(sumOf), new: present.map(sumOf) };
  } finally {
    await stop();
  }
}

/** While nothing runs: before the decision nothing has changed, and each volume is one thing or the other at any time. */
async function atRest(dir: string, round: Round, expected: Expected): Promise<string[]> {
  const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
  const key = { namespace: NAMESPACE, name: `r-${round.number}` };
  const phase = (await getIfAny(store, VolumeGroupReverts, key))?.status?.phase ?? "Waiting";
  await store.close();
  const decided = ["Reverting", "Complete"].includes(phase);
  const sums = await Promise.all(
    volumesOf(round).map(async (volume) => sumOf(await readRecordsAt(imageOf(dir, volume)))),
  );
  return sums.flatMap((sum, index) => {
    if (sum === expected.new[index] && phase !== "Complete") return [];
    if (sum === expected.old[index] && decided) return [];
    return [`killed in phase ${phase}, volume ${index} was not as it should be`];
  });
}

/** No reader may see what was before the revert when another has seen what is after it. */
function checkSeen(
  round: Round,
  expected: Expected,
  seen: readonly Seen[],
): { wrong: string[]; reads: Outcome["reads"] } {
  const wrong: string[] = [];
  const names = volumesOf(round);
  const received = seen.map((each) => {
    const index = names.indexOf(each.volume);
    const what =
      each.sum === expected.old[index] ? "after" : each.sum === expected.new[index] ? "before" : "neither";
    return { ...each, what };
  });
  for (const { volume, what } of received)
    if (what === "neither") wrong.push(`${volume} is neither old nor new`);
  const after = received.filter(({ what }) => what === "after");
  const before = received.filter(({ what }) => what === "before");
  const first = Math.min(...after.map(({ from }) => from));
  for (const { volume, to } of before)
    if (to > first) wrong.push(`${volume} was seen from before the revert when another was back`);
  for (const volume of names)
    if (received.filter((each) => each.volume === volume).at(-1)?.what !== "after")
      wrong.push(`${volume} is not back in the end`);
  return { wrong, reads: { before: before.length, after: after.length } };
}

async function leaks(dir: string): Promise<string[]> {
  const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
  try {
    const found = await findLeaks({ store, host: createHost(), stateDir: join(dir, "state") });
    return found.map((leak) => `left: ${JSON.stringify(leak)}`);
  } finally {
    await store.close();
  }
}

interface Life {
  /** Its next message; undefined when it has ended instead. */
  received<T>(): Promise<T | undefined>;
  goOn(): void;
  /** The same, and lets it go on. */
  response<T>(): Promise<T | undefined>;
  /** Its code, or the signal that has ended it. */
  ended: Promise<unknown>;
}

/** It does not outlive `play`. */
async function live<R>(
  program: string,
  dir: string,
  round: Round,
  play: (life: Life) => Promise<R>,
): Promise<R> {
  const { MOORING_FAILPOINT: _, ...env } = process.env;
  const child = fork(program, [dir, JSON.stringify(round)], {
    ...{ env, execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] },
  });
  const ended = once(child, "exit").then(([code, signal]) => signal ?? code);
  const received = async <T>(): Promise<T | undefined> => {
    const next = once(child, "message").then(([message]) => message as T);
    return Promise.race([next, ended.then(() => undefined)]);
  };
  const goOn = () => void child.send("go on");
  const response = async <T>(): Promise<T | undefined> => {
    const message = await received<T>();
    if (message !== undefined) goOn();
    return message;
  };
  try {
    return await play({ received, goOn, response, ended });
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}
