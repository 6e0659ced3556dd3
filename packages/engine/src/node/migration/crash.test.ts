import assert from "node:assert/strict";
import { once } from "node:events";
import { after, type TestContext, test } from "node:test";
import { armFailpoint, failpointNames } from "@mooring/store";
import { bundleProgram, killEveryFailpoint, startTestApiServer, thorough } from "@mooring/store/testing";
import { BlockWriter, readStints } from "./testing/block-writer.ts";
import { Stage } from "./testing/stage.ts";
import "./apply.ts";

const program = await bundleProgram(new URL("./testing/mortal-agent.ts", import.meta.url));
after(program.remove);

type Way = "confirm" | "roll back";
/** What becomes of the agent that was killed: it is started again, or its node is fenced. */
type Fate = "comes back" | "is lost";

interface Killing {
  /** Whose agent dies: the source is a, the target b. */
  node: "a" | "b";
  /** `engine/migration/...`, or of the volume's ordinary work on the way. */
  failpoint: string;
  way: Way;
  fate: Fate;
}

const SOURCE_FAILPOINTS = ["close-source", "hand-over"] as const;
const PREPARING = ["withhold-device", "record-target-ready"] as const;
const MOVING = ["take-lease", "device-protected", "activate-device", "record-moved"] as const;
const LEAVING = ["drop-device", "record-target-closed"] as const;
/** What only an accident leads to. */
const ACCIDENTS = ["fence", "record-target-lost", "record-target-gone"] as const;
type Accident = (typeof ACCIDENTS)[number];

const FATES: readonly Fate[] = ["comes back", "is lost"];
const KILLINGS: readonly Killing[] = FATES.flatMap((fate) => [
  ...SOURCE_FAILPOINTS.map((failpoint) => ({ node: "a" as const, failpoint, way: "confirm" as const, fate })),
  ...PREPARING.flatMap((failpoint) =>
    (["confirm", "roll back"] as const).map((way) => ({ node: "b" as const, failpoint, way, fate })),
  ),
  ...MOVING.map((failpoint) => ({ node: "b" as const, failpoint, way: "confirm" as const, fate })),
  ...LEAVING.map((failpoint) => ({ node: "b" as const, failpoint, way: "roll back" as const, fate })),
]);

/** After this time the failpoint will not be reached any more. */
const PATIENCE_MS = 120_000;

async function kill(t: TestContext, { node, failpoint, way, fate }: Killing): Promise<void> {
  const stage = await Stage.open(t);
  // Before anything is attached: an agent that is away for too long loses its lease.
  const { url } = await startTestApiServer(t, stage.store);
  await stage.stopNode(node);
  const mortal = await stage.startMortal(node, program.path, url, `engine/migration/${failpoint}`);
  const died = once(mortal, "exit", { signal: AbortSignal.timeout(PATIENCE_MS) });
  died.catch(() => {});
  await stage.ask("a");
  const writers = [await BlockWriter.start("a", await stage.attached("a"))];
  const [first] = writers;
  await first?.progress(20);
  await stage.ask("b");
  if (PREPARING.every((name) => name !== failpoint)) await stage.ready("b");
  else await died;
  // In the target's preparation the source goes on, whatever has become of the target.
  await first?.progress(5);
  const leaves = way === "confirm" ? "a" : "b";
  if (leaves === "a") await first?.stop();
  await stage.leave(leaves);
  assert.deepEqual(await died, [null, "SIGKILL"], "the failpoint was not reached");

  const lost = fate === "is lost" ? node : "";
  if (lost === "") await stage.startNode(node);
  else await lose(stage, node);
  const stays = leaves === "a" ? "b" : "a";
  if (stays === lost) return giveToOther(stage, lost, writers);
  const device = await stage.attached(stays);
  if (stays === "b") {
    const second = await BlockWriter.start("b", device, first?.end);
    writers.push(second);
    await second.progress(20);
    await second.stop();
  } else {
    await first?.progress(20);
    await first?.stop();
  }
  await settle(stage, device, writers);
  await stage.leave(stays);
  await stage.detached();
}

/** A machine that is lost takes the devices along that were fenced; the others are its guard's. */
async function lose(stage: Stage, node: string): Promise<void> {
  for (const device of await stage.devices(node)) {
    if (device.fenced === true) await stage.host.loops.detach(device, { lastUser: true });
  }
  await stage.report(node, "Fenced");
}

/** The node that has the volume is lost: the next workload gets it elsewhere, with everything. */
async function giveToOther(stage: Stage, lost: string, writers: BlockWriter[]): Promise<void> {
  const other = lost === "a" ? "b" : "a";
  await stage.ask(other);
  // Until then the record may be that of an attachment which is about to end.
  await stage.satisfied(other);
  const device = await stage.attached(other);
  const end = writers.reduce((last, writer) => Math.max(last, writer.end), 0);
  const next = await BlockWriter.start(`${other}2`, device, end);
  writers.push(next);
  await next.progress(20);
  await next.stop();
  await settle(stage, device, writers);
  await stage.leave("a");
  await stage.leave("b");
  await stage.detached();
}

/** Everything acknowledged is there, by one writer after the other. */
async function settle(stage: Stage, device: string, writers: readonly BlockWriter[]): Promise<void> {
  assert.deepEqual(
    await readStints(device),
    writers.map(({ node, acknowledged }) => [node, acknowledged]),
  );
  const working = [...(await stage.devices("a")), ...(await stage.devices("b"))];
  const open = working.filter(({ fenced }) => fenced !== true);
  assert.deepEqual(
    open.map(({ path }) => path),
    [device],
    "a device is left that can write",
  );
}

killEveryFailpoint(KILLINGS, { everyday: 1, full: 6 }, (killing) => {
  const { node, failpoint, way, fate } = killing;
  const who = node === "a" ? "source" : "target";
  test(`${way}: the ${who}'s agent is killed at ${failpoint} and ${fate}: one writer at a time, nothing lost`, (t) =>
    kill(t, killing));
});

/**
 * Somebody opens the image on b by hand before the volume is to go there. An agent that looks in between takes that device away:
 * then once more, until its step `isOver`; `dying` ends the wait for an agent that dies of it.
 */
async function openBefore(stage: Stage, isOver: () => boolean, dying?: Promise<unknown>): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt += 1) {
    await stage.openByHand("b");
    await stage.ask("b");
    const ready = stage.ready("b");
    ready.catch(() => {});
    await (dying === undefined ? ready : Promise.race([ready, dying]));
    if (isOver()) return;
    await stage.leave("b");
    await stage.volume(({ spec, status }) => !spec.migrationNodeID && !status?.currentMigrationNodeID);
  }
}

/** An accident on the way of a volume from the one node to the other. */
async function befall(stage: Stage, accident: Exclude<Accident, "fence">, target: "a" | "b"): Promise<void> {
  await stage.ask(target);
  const device = await stage.ready(target);
  if (accident === "record-target-lost") return stage.closeByHand(device);
  await stage.stopNode(target);
  await lose(stage, target);
  await stage.leave(target);
}

killEveryFailpoint(ACCIDENTS, { everyday: 0, full: 2 }, (accident) => {
  const node = accident === "record-target-gone" ? "a" : "b";
  test(`an accident: ${node}'s agent is killed at ${accident} and comes back: one writer at a time, nothing lost`, async (t) => {
    const stage = await Stage.open(t);
    const { url } = await startTestApiServer(t, stage.store);
    await stage.stopNode(node);
    const mortal = await stage.startMortal(node, program.path, url, `engine/migration/${accident}`);
    const died = once(mortal, "exit", { signal: AbortSignal.timeout(PATIENCE_MS) });
    died.catch(() => {});
    await stage.ask("a");
    const first = await BlockWriter.start("a", await stage.attached("a"));
    t.after(() => first.stop().catch(() => {}));
    await first.progress(20);
    if (accident === "fence") await openBefore(stage, () => mortal.signalCode !== null, died);
    else await befall(stage, accident, "b");
    assert.deepEqual(await died, [null, "SIGKILL"], "the failpoint was not reached");
    await stage.startNode(node);
    const moves = accident !== "record-target-gone";
    if (moves) await stage.ready("b");
    await first.progress(5);
    await first.stop();
    if (moves) await stage.leave("a");
    const stays = moves ? "b" : "a";
    await settle(stage, await stage.attached(stays), [first]);
    await stage.leave(stays);
    await stage.detached();
  });
});

const NAMES = failpointNames().filter((name) => name.startsWith("engine/migration/"));

test("every failpoint of a migration has its killing here", () => {
  const met = new Set([...KILLINGS.map(({ failpoint }) => failpoint), ...ACCIDENTS]);
  const left = NAMES.map((name) => name.replace("engine/migration/", ""));
  assert.deepEqual(
    left.filter((failpoint) => !met.has(failpoint)),
    [],
  );
});

test("migrations that nobody kills pass every failpoint", thorough(), async (t) => {
  const passed = armFailpoint(undefined);
  const stage = await Stage.open(t);
  await stage.ask("a");
  await stage.attached("a");
  await openBefore(stage, () => passed.includes("engine/migration/fence"));
  await befall(stage, "record-target-lost", "b");
  await stage.volume(({ status }) => status?.remountRequestedAt !== undefined);
  await stage.ready("b");
  await stage.leave("a");
  await stage.attached("b");
  await stage.ask("a");
  await stage.ready("a");
  await stage.leave("a");
  await stage.attached("b");
  await befall(stage, "record-target-gone", "a");
  await stage.attached("b");
  await stage.leave("b");
  await stage.detached();
  assert.deepEqual(
    NAMES.filter((name) => !passed.includes(name)),
    [],
  );
});
