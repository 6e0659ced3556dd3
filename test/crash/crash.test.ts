import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import "@mooring/standalone";
import { failpointNames, isStatus } from "@mooring/store";
import { howMany, killEveryFailpoint, thorough } from "@mooring/store/testing";
import { leaks } from "../support/leaks.ts";
import type { Persist } from "../support/persist.ts";
import { filesBelow, nothingRemains } from "../support/remains.ts";
import { Scenario } from "../support/scenario.ts";
import { Up } from "../support/up.ts";

/**
 * The failpoints that a life of the scenario passes, in `way.txt` (made with `MOORING_FAILPOINTS_PASSED`, of three lives).
 * Those that only the first life of a state folder passes are among them, so a draw that ends nothing is followed by the
 * next.
 */
const all = failpointNames();
const way = (await readFile(new URL("way.txt", import.meta.url), "utf8")).trim().split("\n");
const MOST_DRAWS = 6;
const RANDOM_ROUNDS = howMany({ everyday: 0, full: 3, deep: 100 });

const up = await Up.create();
const acks = await mkdtemp(join(tmpdir(), "mooring-acks-"));
after(async () => {
  await up.dispose();
  await rm(acks, { recursive: true, force: true });
});

let restarts = 0;
const persist: Persist = async (work) => {
  for (;;) {
    if (!up.alive) {
      restarts += 1;
      await up.start({}, { mayDie: false });
    }
    try {
      return await work(await up.store());
    } catch (error) {
      // Whatever a dying server responded is void; a living one's response stands.
      await new Promise((resolve) => setImmediate(resolve));
      if (up.alive && !isConnectionError(error)) throw error;
    }
  }
};

/** RestStore throws ServiceUnavailable when no server responds; a server that is going away may say it, too. */
function isConnectionError(error: unknown): boolean {
  return isStatus(error, "ServiceUnavailable");
}

async function scenario(namespace: string): Promise<Scenario> {
  return new Scenario(persist, namespace, await mkdtemp(join(acks, "round-")));
}

test("the scenario notices a record that is lost", thorough(), async () => {
  const round = await scenario("lossy");
  await round.write();
  try {
    const files = await filesBelow(join(up.stateDir, "kubelet/pods"));
    await truncate(files.find((file) => file.endsWith("/mount/records")) ?? assert.fail(files.join("\n")), 0);
    // Whether the writer has gone on behind the hole when the snapshot is taken.
    await assert.rejects(round.restore(), /corrupt|only \d+ records/);
    await assert.rejects(round.audit(), /corrupt/);
  } finally {
    await round.destroy();
  }
});

test("every failpoint on the way of the scenario exists", () =>
  assert.deepEqual(
    way.filter((name) => !all.includes(name)),
    [],
  ));

let rounds = 0;
killEveryFailpoint(way, { everyday: 1, full: 4, daily: true }, (name) => {
  test(`kill -9 at ${name}, then up again: no data is lost, everything completes, nothing leaks`, async (t) => {
    const first = way.indexOf(name);
    const draws = [...way.slice(first), ...way].slice(0, MOST_DRAWS);
    for (const drawn of draws) {
      await up.end("SIGTERM");
      restarts = 0;
      await up.start({ MOORING_FAILPOINT: drawn }, { mayDie: true });
      await (await scenario(`point-${rounds++}`)).run();
      assert.deepEqual(await leaks(up), []);
      if (restarts > 0) return;
      t.diagnostic(`${drawn} was not passed`);
    }
    assert.fail(`no life ended at ${draws.join(", ")}: make way.txt anew`);
  });
});

test(
  `kill -9 at ${RANDOM_ROUNDS} random moments: no data is lost, everything completes, nothing leaks`,
  thorough(),
  async () => {
    // As long as a round takes here, so that every part of it is hit, however busy the machine is.
    let span = 2500;
    for (let round = 0; round < RANDOM_ROUNDS; round += 1) {
      await up.end("SIGTERM");
      await up.start();
      const startedAt = performance.now();
      const delay = Math.random() * span;
      const killer = setTimeout(() => void up.end("SIGKILL"), delay);
      try {
        await (await scenario(`random-${round}`)).run();
      } finally {
        clearTimeout(killer);
      }
      span = performance.now() - startedAt;
      assert.deepEqual(await leaks(up), [], `round ${round}, killed after ${delay} ms`);
    }
  },
);

test("after a clean stop no mount, loop device or process of the state folder is left", async () => {
  assert.equal(await up.end("SIGTERM"), 0);
  await nothingRemains(up.stateDir);
});
