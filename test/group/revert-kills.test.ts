import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { bundleProgram, currentPart, howMany, sample, thorough } from "@mooring/store/testing";
import { createHost } from "../../packages/engine/src/host/create-host.ts";
import { scratch } from "../../packages/engine/src/testing/scratch.ts";
import { playRound, type Round } from "./support/revert-round.ts";

/**
 * Group reverts of what ordered writers have written, killed at every step. A program that reads the volumes meanwhile sees
 * what was there before the revert, or what was in the group snapshot: never the one after the other.
 */
const POOLS = ["xfs", "btrfs"] as const;
const VOLUMES = 3;
/** Kills on each kind of pool. */
const KILLS = howMany({ everyday: 0, full: 6, deep: 100 });
/** A failpoint that a life comes by more often than another did is not always reached. */
const MOST_ROUNDS = 3;

const program =
  currentPart() === "everyday"
    ? undefined
    : await bundleProgram(new URL("support/revert-life.ts", import.meta.url));
after(() => program?.remove());

/** The failpoints that a revert comes by, each as often as it does. */
function failpointsOf(passed: readonly string[]): string[] {
  const times = new Map<string, number>();
  return passed.map((name) => {
    const count = (times.get(name) ?? 0) + 1;
    times.set(name, count);
    return `${name}#${count}`;
  });
}

/** A deep run takes long: who waits for it reads how far it is. */
function progress(pool: string, kills: number, rounds: number, begun: number): void {
  if (currentPart() !== "deep" || rounds % 10 !== 0) return;
  const seconds = Math.round((performance.now() - begun) / 1_000);
  process.stderr.write(`${pool}: ${kills} kills of ${KILLS} in ${rounds} rounds, ${seconds} s\n`);
}

/** Rounds on the same volumes, one after the other. */
function stage(dir: string, pool: Round["pool"]) {
  let number = 0;
  return (more: Pick<Partial<Round>, "failpoint" | "way">) => {
    const round: Round = { pool, volumes: VOLUMES, number, part: "begin", way: "together", ...more };
    number += 1;
    return playRound(program?.path ?? "", dir, round);
  };
}

for (const pool of sample(POOLS, { everyday: 0, full: 1 })) {
  describe(`group reverts on a ${pool} pool under ordered writers`, () => {
    test(`${KILLS} kills, and every set is wholly old or wholly new`, thorough(), async (t) => {
      const play = stage(await scratch(t, createHost()), pool);
      const whole = await play({});
      assert.deepEqual([whole.killed, whole.violations], [false, []]);
      const all = failpointsOf(whole.passed);
      assert.ok(all.length > 30, `only ${all}`);
      const failpoints = currentPart() === "deep" ? all : sample(all, { everyday: 0, full: KILLS });
      const killed = new Map<string, number>();
      const reads = { before: 0, after: 0 };
      let [kills, rounds] = [0, 0];
      const begun = performance.now();
      for (; kills < KILLS && rounds < MOST_ROUNDS * KILLS; rounds += 1) {
        const failpoint = failpoints[rounds % failpoints.length] ?? "";
        await t.test(`killed at ${failpoint}`, async () => {
          const outcome = await play({ failpoint });
          assert.deepEqual(outcome.violations, []);
          if (outcome.killed) kills += 1;
          if (outcome.killed) killed.set(failpoint, (killed.get(failpoint) ?? 0) + 1);
          reads.before += outcome.reads.before;
          reads.after += outcome.reads.after;
        });
        progress(pool, kills, rounds + 1, begun);
      }
      t.diagnostic(`${kills} kills at ${killed.size} steps of ${all.length} in ${rounds} rounds`);
      t.diagnostic(`workloads saw ${reads.before} times the new records, and ${reads.after} times the old`);
      assert.equal(kills, KILLS);
    });

    test("the same proof finds volumes that are put back one by one", thorough(), async (t) => {
      const play = stage(await scratch(t, createHost()), pool);
      const { killed, violations } = await play({
        way: "apart",
        failpoint: "engine/volume/restore-image",
      });
      assert.ok(killed);
      assert.ok(
        violations.some((violation) =>
          /was seen from before the revert when another was back/.test(violation),
        ),
        violations.join("\n"),
      );
    });
  });
}
