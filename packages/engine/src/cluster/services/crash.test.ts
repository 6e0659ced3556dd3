import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { failpointNames, LocalStore } from "@mooring/store";
import { bundleProgram, killEveryFailpoint, thorough } from "@mooring/store/testing";
import type { PoolType } from "../../api/pool.ts";
import { createHost } from "../../host/create-host.ts";
import { findLeaks } from "../../node/leaks/find-leaks.ts";
import { presentShares } from "../../node/share/index.ts";
import { engineRegistry } from "../../testing/agent.ts";
import { OF_JOBS } from "../../testing/failpoints-of-jobs.ts";
import { notPassed } from "../../testing/passed.ts";
import { cleanUp, scratch } from "../../testing/scratch.ts";
import "../arbiter/index.ts";
import "./index.ts";

const host = createHost();
const child = await bundleProgram(new URL("testing/crash-child.ts", import.meta.url));
after(child.remove);

async function live(dir: string, type: PoolType, failpoint: string | undefined): Promise<unknown> {
  const { MOORING_FAILPOINT: _, ...env } = process.env;
  const life = spawn(process.execPath, [child.path, dir, type], {
    stdio: ["ignore", "ignore", "inherit"],
    env: failpoint === undefined ? env : { ...env, MOORING_FAILPOINT: failpoint },
  });
  const [code, signal] = await once(life, "exit");
  return signal ?? code;
}

const names = failpointNames()
  .filter((name) => /^engine\/(arbiter|services|share|filesystem)\//.test(name))
  .concat(OF_JOBS);
const FOLDERS_ONLY = /^engine\/pool\/folder/;

test("a life that nobody kills passes every failpoint", thorough(), async (t) => {
  const types = ["xfs", "directory"] as const;
  const dirs = await Promise.all(types.map(() => scratch(t, host)));
  const ends = await Promise.all(types.map((type, index) => live(dirs[index] ?? "", type, undefined)));
  assert.deepEqual(ends, [0, 0]);
  const [devices = "", folders = ""] = dirs;
  assert.deepEqual(
    await notPassed(
      names.filter((name) => !FOLDERS_ONLY.test(name)),
      devices,
    ),
    [],
  );
  assert.deepEqual(
    await notPassed(
      names.filter((name) => FOLDERS_ONLY.test(name)),
      folders,
    ),
    [],
  );
  for (const dir of dirs) await cleanUp(host, dir);
});

// Each life waits most of its time for others to see what it did.
describe("the engine's services, killed", { concurrency: 3 }, () => {
  killEveryFailpoint(names, { everyday: 1, full: 12 }, (name) => {
    test(`killed at ${name}, the next life ends the work and leaves no ticket and no device`, async (t) => {
      const dir = await scratch(t, host);
      const type = FOLDERS_ONLY.test(name) ? "directory" : "xfs";
      assert.equal(await live(dir, type, name), "SIGKILL", "the failpoint was not reached");
      assert.equal(await live(dir, type, undefined), 0);
      const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
      const leaks = await findLeaks({ store, host, stateDir: join(dir, "state") });
      await store.close();
      assert.deepEqual(leaks, []);
      const loops = (await host.loops.list()).filter(({ backingFile }) => backingFile.startsWith(dir));
      assert.deepEqual(loops, []);
      assert.deepEqual(await presentShares(join(dir, "state")), [], "a server may be left");
      await cleanUp(host, dir);
    });
  });
});
