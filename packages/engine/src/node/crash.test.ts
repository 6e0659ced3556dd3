import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { failpointNames, LocalStore } from "@mooring/store";
import { bundleProgram, killEveryFailpoint, thorough } from "@mooring/store/testing";
import type { PoolType } from "../api/pool.ts";
import { createHost } from "../host/create-host.ts";
import { engineRegistry } from "../testing/agent.ts";
import { OF_JOBS } from "../testing/failpoints-of-jobs.ts";
import { OF_LEASES } from "../testing/failpoints-of-leases.ts";
import { notPassed } from "../testing/passed.ts";
import { cleanUp, scratch } from "../testing/scratch.ts";
import { findLeaks } from "./leaks/find-leaks.ts";
import "./index.ts";

const host = createHost();
const child = await bundleProgram(new URL("../testing/crash-child.ts", import.meta.url));
after(child.remove);

/** Failpoints that the child's story does not reach; each has its own test elsewhere. */
const ELSEWHERE: readonly string[] = [
  // Reached by jobs, which have volumes through tickets: see the crash test of the data services.
  ...OF_JOBS,
  // Passed with a shared pool only: see the crash test of the leases.
  ...OF_LEASES,
  // No life is killed there: that a node takes part is in its memory alone, and that no node does is found anew by the next.
  ...["engine/pool/join", "engine/pool/report-no-node"],
];
const FOLDERS_ONLY: readonly string[] = ["engine/pool/folder-renamed-away", "engine/pool/folder-written"];
/** Passed once for a new image and once for a copy. */
const TWICE: readonly string[] = ["engine/pool/image-written", "engine/pool/image-renamed"];

async function live(dir: string, type: PoolType, failpoint: string | undefined): Promise<unknown> {
  const { MOORING_FAILPOINT: _, ...env } = process.env;
  const life = spawn(process.execPath, [child.path, dir, type], {
    stdio: ["ignore", "ignore", "inherit"],
    env: failpoint === undefined ? env : { ...env, MOORING_FAILPOINT: failpoint },
  });
  const [code, signal] = await once(life, "exit");
  return signal ?? code;
}

function crash(type: PoolType, failpoint: string): void {
  test(`${type}: killed at ${failpoint}, the next life ends the work and leaves nothing`, async (t) => {
    const dir = await scratch(t, host);
    assert.equal(await live(dir, type, failpoint), "SIGKILL", "the failpoint was not reached");
    assert.equal(await live(dir, type, undefined), 0);

    const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
    const leaks = await findLeaks({ store, host, stateDir: join(dir, "state") });
    await store.close();
    assert.deepEqual(leaks, []);
    assert.deepEqual(await readdir(join(dir, "state", "pools")), []);
    const below = (path: string): boolean => path.startsWith(dir);
    assert.deepEqual(
      (await host.loops.list()).filter((l) => below(l.backingFile)),
      [],
    );
    assert.deepEqual(
      (await host.mounts.list()).filter((m) => below(m.target)),
      [],
    );
    await cleanUp(host, dir);
  });
}

/** Not an agent's, or with a story of its own. */
const OTHERS = [
  "engine/arbiter/",
  "engine/migration/",
  "engine/services/",
  "engine/shut-out/",
  "engine/group-snapshot/",
  "engine/group-revert/",
  "engine/share/",
  "engine/filesystem/",
];
const names = failpointNames().filter(
  (name) =>
    name.startsWith("engine/") &&
    !OTHERS.some((others) => name.startsWith(others)) &&
    !ELSEWHERE.includes(name),
);
const cases: [PoolType, string][] = [
  ...names.map((name): [PoolType, string] => [FOLDERS_ONLY.includes(name) ? "directory" : "xfs", name]),
  ...TWICE.map((name): [PoolType, string] => ["btrfs", `${name}#2`]),
  // A subvolume is left there, which an xfs pool has not.
  ["btrfs", "engine/copy/cloned-while-frozen"],
];

test("lives that nobody kills pass every failpoint", thorough(), async (t) => {
  for (const type of ["xfs", "btrfs", "directory"] as const) {
    const dir = await scratch(t, host);
    assert.equal(await live(dir, type, undefined), 0);
    const once = cases.filter(([each, name]) => each === type && !name.includes("#"));
    assert.deepEqual(
      await notPassed(
        once.map(([, name]) => name),
        dir,
      ),
      [],
      type,
    );
    await cleanUp(host, dir);
  }
});

killEveryFailpoint(cases, { everyday: 1, full: 14 }, ([type, name]) => crash(type, name));
