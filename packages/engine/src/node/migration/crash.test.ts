import assert from "node:assert/strict";
import { once } from "node:events";
import { after, type TestContext, test } from "node:test";
import { failpointNames } from "@mooring/store";
import { bundleProgram, killEveryFailpoint, startTestApiServer } from "@mooring/store/testing";
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
/** Passed only after a restart of the machine, by a node that takes over, or by one that was too late. */
const ELSEWHERE = /fence|record-target-(lost|gone)/;

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
  for (const { path, fenced } of await stage.devices(node)) {
    if (fenced === true) await stage.host.loops.detach(path, { lastUser: true });
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

test("every failpoint of a migration has its killing here, or is one that only a loss reaches", () => {
  const met = new Set(KILLINGS.map(({ failpoint }) => failpoint));
  const names = failpointNames().filter((name) => name.startsWith("engine/migration/"));
  const left = names
    .map((name) => name.replace("engine/migration/", ""))
    .filter((failpoint) => !met.has(failpoint));
  assert.deepEqual(
    left.filter((failpoint) => !ELSEWHERE.test(failpoint)),
    [],
  );
});
