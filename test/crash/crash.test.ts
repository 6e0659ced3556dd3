import assert from "node:assert/strict";
import { after, test } from "node:test";
import "@mooring/standalone";
import { failpointNames, isStatus } from "@mooring/store";
import { leaks } from "../support/leaks.ts";
import { machineRemains } from "../support/remains.ts";
import { build, destroy, type Persist } from "../support/scenario.ts";
import { Up } from "../support/up.ts";

/** `MOORING_DEEP=1`: every gap there is, then random moments, a hundred rounds. Else a sample that fits `npm test`. */
const DEEP = process.env.MOORING_DEEP === "1";
const QUICK_POINTS = 8;
const RANDOM_ROUNDS = DEEP ? 100 : 3;

const up = await Up.create();
after(() => up.dispose());

function persistent(): Persist {
  return async (work) => {
    for (;;) {
      if (!up.alive) await up.start({}, { mayDie: false });
      try {
        return await work(await up.store());
      } catch (error) {
        // Whatever a dying server answered is void; a living one's answer stands.
        await new Promise((resolve) => setImmediate(resolve));
        if (up.alive && !isConnectionError(error)) throw error;
      }
    }
  };
}

/** RestStore says ServiceUnavailable when nobody answers; a server that is going away may say it, too. */
function isConnectionError(error: unknown): boolean {
  return isStatus(error, "ServiceUnavailable");
}

/** Evenly spread over the names, shifted by the day, so that all are met in time and a failure can be repeated. */
function sample(names: string[]): string[] {
  if (DEEP) return names;
  const step = Math.max(1, Math.floor(names.length / QUICK_POINTS));
  const offset = Math.floor(Date.now() / 86_400_000) % step;
  return names.filter((_, index) => index % step === offset).slice(0, QUICK_POINTS);
}

for (const [index, name] of sample(failpointNames()).entries()) {
  test(`kill -9 at ${name}, then up again: everything completes, nothing leaks`, async () => {
    await up.end("SIGTERM");
    await up.start({ MOORING_FAILPOINT: name }, { mayDie: true });
    await build(persistent(), `point-${index}`);
    await destroy(persistent(), `point-${index}`);
    assert.deepEqual(await leaks(up), []);
  });
}

test(`kill -9 at ${RANDOM_ROUNDS} random moments: everything completes, nothing leaks`, async () => {
  for (let round = 0; round < RANDOM_ROUNDS; round += 1) {
    await up.end("SIGTERM");
    await up.start();
    const delay = Math.random() * 2500;
    const killer = setTimeout(() => void up.end("SIGKILL"), delay);
    try {
      await build(persistent(), `random-${round}`);
      await destroy(persistent(), `random-${round}`);
    } finally {
      clearTimeout(killer);
    }
    assert.deepEqual(await leaks(up), [], `round ${round}, killed after ${delay} ms`);
  }
});

test("after a clean stop no mount, loop device or process of the state folder is left", async () => {
  assert.equal(await up.end("SIGTERM"), 0);
  assert.deepEqual(await machineRemains(up.stateDir), []);
});
