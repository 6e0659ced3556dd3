import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import "@mooring/standalone";
import { failpointNames } from "@mooring/store";
import { currentPart, Random, thorough } from "@mooring/store/testing";
import { endLoop } from "./kill-loop/end.ts";
import { KillLoop } from "./kill-loop/run.ts";

const KILLS = Number(
  process.env["MOORING_KILLS"] ?? { everyday: 0, rest: 8, all: 60, deep: 10_000 }[currentPart()],
);
/** Another one each day, as with samples. */
const SEED = Number(process.env["MOORING_SEED"] ?? Math.floor(Date.now() / 86_400_000));
const POOLS = (["xfs", "btrfs"] as const).filter((pool) =>
  new RegExp(process.env["MOORING_KILL_POOLS"] ?? "").test(pool),
);
/** Systems side by side: while one starts, or waits for its next change, another has the processors. */
const SYSTEMS = Number(process.env["MOORING_KILL_SYSTEMS"] ?? 1);
/** A deep run takes long: who waits for it reads how far it is. */
const REPORT_EVERY = Number(process.env["MOORING_KILL_REPORT"] ?? 100);

/** A system that is killed so many times, then its end. Resolves with what was done to it; nothing of it goes on then. */
async function killed(pool: "xfs" | "btrfs", seed: number, kills: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "kill-loop-"));
  const random = new Random(seed);
  // Of two days one has an xfs pool whose writers wait when it is full, the other a btrfs pool.
  const holds = seed % 2 === 0;
  const loop = await KillLoop.create({ pool, holds, folder, random, failpoints: failpointNames() });
  const what = `${pool}${holds ? " that holds its writers" : ""}, seed ${seed}`;
  try {
    const report = await killsOf(loop, what, kills);
    await loop.up.dispose();
    return report;
  } catch (error) {
    // A system that has failed is not asked for anything more, and the others have to end as well.
    await loop.up.discard();
    throw new Error(`${what}, after ${loop.kills} kills: ${error}`, { cause: error });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function killsOf(loop: KillLoop, of: string, kills: number): Promise<string> {
  const begun = performance.now();
  const report = (): string => {
    const { created, patched, deleted } = loop.ledger.acknowledged;
    const events = [...loop.events].map(([name, times]) => `${name} ${times}`).join(", ");
    const audits = loop.volumes.reduce((sum, each) => sum + each.audits, 0);
    const seconds = Math.round((performance.now() - begun) / 1_000);
    return `${of}: ${loop.kills} kills in ${seconds} s; acknowledged ${created} creates, ${patched} patches, ${deleted} deletes; ${audits} restores read, ${loop.excluded} objects put back by restores of the state; ${events}`;
  };
  while (loop.kills < kills) {
    assert.deepEqual(await loop.live(), [], report());
    if (loop.kills % REPORT_EVERY === 0) process.stderr.write(`${report()}\n`);
  }
  assert.deepEqual(await endLoop(loop), []);
  return report();
}

for (const [index, pool] of POOLS.entries())
  test(
    `${KILLS / 2} random kills on a ${pool} pool, seed ${SEED}: nothing acknowledged is lost, nothing leaks`,
    thorough(),
    async (t) => {
      const kills = Math.ceil(KILLS / 2 / SYSTEMS);
      const seeds = Array.from({ length: SYSTEMS }, (_, system) => SEED + index + system * POOLS.length);
      const all = await Promise.allSettled(seeds.map((seed) => killed(pool, seed, kills)));
      for (const each of all) if (each.status === "fulfilled") t.diagnostic(each.value);
      const failed = all.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
      if (failed.length > 0) throw new AggregateError(failed, failed.map(String).join("\n"));
    },
  );
