import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { failpointNames, LocalStore } from "@mooring/store";
import { bundleProgram, killEveryFailpoint, thorough } from "@mooring/store/testing";
import type { PoolType } from "../../api/pool.ts";
import { createHost } from "../../host/create-host.ts";
import { engineRegistry } from "../../testing/agent.ts";
import { notPassed } from "../../testing/passed.ts";
import { cleanUp, scratch } from "../../testing/scratch.ts";
import { findLeaks } from "../leaks/find-leaks.ts";
import "../index.ts";
import "../../cluster/services/index.ts";
import { OF_NODES } from "./testing/of-nodes.ts";
import { FROZEN_BY_OTHERS, MOUNTED } from "./testing/story.ts";

const host = createHost();
const child = await bundleProgram(new URL("./testing/crash-child.ts", import.meta.url));
after(child.remove);

/** Only btrfs pools have a subvolume. */
const SUBVOLUME = /subvolume|images-extracted/;
/** On btrfs nobody is frozen, so nothing fails. */
const FREEZING = /failing|failed|abandoned|reflinked/;

async function live(dir: string, type: PoolType, failpoint: string | undefined): Promise<unknown> {
  const { MOORING_FAILPOINT: _, ...env } = process.env;
  const life = spawn(process.execPath, [child.path, dir, type], {
    stdio: ["ignore", "ignore", "inherit"],
    env: failpoint === undefined ? env : { ...env, MOORING_FAILPOINT: failpoint },
  });
  const [code, signal] = await once(life, "exit");
  return signal ?? code;
}

/** With nobody of ours alive: each mounted member takes a write. A frozen one would keep the writer waiting for ever. */
async function writersGoOn(dir: string): Promise<void> {
  const foreign = existsSync(join(dir, FROZEN_BY_OTHERS));
  for (const name of foreign ? MOUNTED.slice(0, -1) : MOUNTED) {
    const target = join(dir, "mounts", name);
    if (!existsSync(join(target, "lost+found"))) continue;
    const args = ["45", "sh", "-c", 'echo alive >"$1/alive" && sync "$1/alive"', "sh", target];
    await host.exec.run("timeout", args);
  }
}

function crash(type: PoolType, failpoint: string): void {
  test(`${type}: killed at ${failpoint}, writers go on, the next life ends the work and leaves nothing`, async (t) => {
    const dir = await scratch(t, host);
    assert.equal(await live(dir, type, failpoint), "SIGKILL", "the failpoint was not reached");
    await writersGoOn(dir);
    assert.equal(await live(dir, type, undefined), 0);
    const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
    const leaks = await findLeaks({ store, host, stateDir: join(dir, "state") });
    await store.close();
    assert.deepEqual(leaks, []);
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

const names = failpointNames().filter(
  (name) => name.startsWith("engine/group-snapshot/") && !OF_NODES.test(name),
);
const onBtrfs = (name: string) =>
  !FREEZING.test(name) && (SUBVOLUME.test(name) || /\/(quiesced|copied|released|run)$/.test(name));
const cases: [PoolType, string][] = [
  ...names.filter((name) => !SUBVOLUME.test(name)).map((name): [PoolType, string] => ["xfs", name]),
  ...names.filter(onBtrfs).map((name): [PoolType, string] => ["btrfs", name]),
];

test("lives that nobody kills pass every failpoint", thorough(), async (t) => {
  const types = ["xfs", "btrfs"] as const;
  const dirs = await Promise.all(types.map(() => scratch(t, host)));
  const ends = await Promise.all(types.map((type, index) => live(dirs[index] ?? "", type, undefined)));
  assert.deepEqual(ends, [0, 0]);
  for (const [index, type] of types.entries()) {
    const names = cases.filter(([each]) => each === type).map(([, name]) => name);
    assert.deepEqual(await notPassed(names, dirs[index] ?? ""), [], type);
  }
  for (const dir of dirs) await cleanUp(host, dir);
});

killEveryFailpoint(cases, { everyday: 1, full: 12 }, ([type, name]) => crash(type, name));
