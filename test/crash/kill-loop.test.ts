import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import "@mooring/standalone";
import { failpointNames } from "@mooring/store";
import { currentPart, thorough } from "@mooring/store/testing";
import { endLoop } from "./kill-loop/end.ts";
import { Random } from "./kill-loop/random.ts";
import { KillLoop } from "./kill-loop/run.ts";

const KILLS = Number(
  process.env["MOORING_KILLS"] ?? { everyday: 0, rest: 8, all: 60, deep: 10_000 }[currentPart()],
);
/** Another one each day, as with samples. */
const SEED = Number(process.env["MOORING_SEED"] ?? Math.floor(Date.now() / 86_400_000));
const POOLS = (["xfs", "btrfs"] as const).filter((pool) =>
  new RegExp(process.env["MOORING_KILL_POOLS"] ?? "").test(pool),
);
/** A deep run takes long: who waits for it reads how far it is. */
const REPORT_EVERY = 100;

for (const [index, pool] of POOLS.entries()) {
  test(
    `${KILLS / 2} random kills on a ${pool} pool, seed ${SEED}: nothing acknowledged is lost, nothing leaks`,
    thorough(),
    async (t) => {
      const folder = await mkdtemp(join(tmpdir(), "kill-loop-"));
      const random = new Random(SEED + index);
      const loop = await KillLoop.create({ pool, folder, random, failpoints: failpointNames() });
      t.after(async () => {
        await loop.up.dispose();
        await rm(folder, { recursive: true, force: true });
      });
      const begun = performance.now();
      const report = (): string => {
        const { created, patched, deleted } = loop.ledger.acknowledged;
        const events = [...loop.events].map(([name, times]) => `${name} ${times}`).join(", ");
        const audits = loop.volumes.reduce((sum, each) => sum + each.audits, 0);
        const seconds = Math.round((performance.now() - begun) / 1_000);
        return `${pool}, seed ${SEED}: ${loop.kills} kills in ${seconds} s; acknowledged ${created} creates, ${patched} patches, ${deleted} deletes; ${audits} restores read, ${loop.excluded} objects put back by restores of the state; ${events}`;
      };
      while (loop.kills < KILLS / 2) {
        assert.deepEqual(await loop.live(), [], report());
        if (loop.kills % REPORT_EVERY === 0) process.stderr.write(`${report()}\n`);
      }
      assert.deepEqual(await endLoop(loop), []);
      t.diagnostic(report());
    },
  );
}
