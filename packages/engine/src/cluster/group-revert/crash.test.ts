import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { failpointNames, getIfAny, LocalStore } from "@mooring/store";
import { bundleProgram, killEveryFailpoint, thorough } from "@mooring/store/testing";
import { VolumeGroupReverts } from "../../api/group-revert.ts";
import { createHost } from "../../host/create-host.ts";
import { findLeaks } from "../../node/leaks/find-leaks.ts";
import { engineRegistry } from "../../testing/agent.ts";
import { notPassed } from "../../testing/passed.ts";
import { cleanUp, scratch } from "../../testing/scratch.ts";
import { NAMESPACE } from "./testing/group.ts";
import { present } from "./testing/images.ts";

const host = createHost();
const child = await bundleProgram(new URL("testing/crash-child.ts", import.meta.url));
after(child.remove);

const OF_THE_SWAP = ["engine/volume/image-restored", "engine/volume/restore-image"];

async function live(dir: string, failpoint: string | undefined): Promise<unknown> {
  const { MOORING_FAILPOINT: _, ...env } = process.env;
  const life = spawn(process.execPath, [child.path, dir], {
    stdio: ["ignore", "ignore", "inherit"],
    env: failpoint === undefined ? env : { ...env, MOORING_FAILPOINT: failpoint },
  });
  const [code, signal] = await once(life, "exit");
  return signal ?? code;
}

async function phase(dir: string): Promise<string | undefined> {
  const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
  try {
    const revert = await getIfAny(store, VolumeGroupReverts, { namespace: NAMESPACE, name: "r" });
    return revert?.status?.phase;
  } finally {
    await store.close();
  }
}

const names = failpointNames()
  .filter((name) => name.startsWith("engine/group-revert/"))
  .concat(OF_THE_SWAP);

test("a life that nobody kills passes every failpoint", thorough(), async (t) => {
  const dir = await scratch(t, host);
  assert.equal(await live(dir, undefined), 0, "3: not all have the old bytes");
  assert.deepEqual(await notPassed(names, dir), []);
  await cleanUp(host, dir);
});

describe("a group revert, killed", { concurrency: 2 }, () => {
  killEveryFailpoint(names, { everyday: 1 }, (name) => {
    test(`killed at ${name}, nothing has changed before the decision, and all members are back after it`, async (t) => {
      const dir = await scratch(t, host);
      assert.equal(await live(dir, name), "SIGKILL", "the failpoint was not reached");
      const before = (await phase(dir)) ?? "Waiting";
      if (!["Reverting", "Complete"].includes(before)) assert.deepEqual(await present(dir), ["new", "new"]);
      assert.equal(await live(dir, undefined), 0, "3: not all have the old bytes");
      const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
      const leaks = await findLeaks({ store, host, stateDir: join(dir, "state") });
      await store.close();
      assert.deepEqual(leaks, []);
      await cleanUp(host, dir);
    });
  });
});
