import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { failpointNames, LocalStore, VolumeGroupSnapshots } from "@mooring/store";
import { bundleProgram, killEveryFailpoint } from "@mooring/store/testing";
import { testRegistry } from "../testing/registry.ts";
import { ScriptedDriver } from "../testing/scripted-driver.ts";
import "./index.ts";

const bundle = await bundleProgram(new URL("testing/freeze-crash-child.ts", import.meta.url));
after(bundle.remove);
const failpoints = failpointNames().filter((name) =>
  /^sidecars\/group-snapshot\/(freeze-asked-again|ask-again)$/.test(name),
);

test("there are failpoints to crash at", () => assert.equal(failpoints.length, 2));

describe("a group snapshot that begins anew, and whose control plane is killed", { concurrency: 2 }, () => {
  killEveryFailpoint(failpoints, { everyday: 1 }, (failpoint) => {
    test(`killed at ${failpoint}: the next life makes one snapshot of all members, and thaws the group`, async (t) => {
      const folder = await mkdtemp(join(tmpdir(), "mooring-freeze-crash-"));
      const driver = await ScriptedDriver.start({
        can: ["CREATE_DELETE_VOLUME", "CREATE_DELETE_SNAPSHOT"],
        groups: true,
        volumeGroups: ["modify", "get", "list"],
      });
      t.after(async () => {
        await driver.stop();
        await rm(folder, { recursive: true, force: true });
      });
      const live = async (env: NodeJS.ProcessEnv) => {
        const args = [bundle.path, folder, driver.endpoint];
        const child = spawn(process.execPath, args, {
          env: { ...process.env, ...env },
          stdio: "inherit",
          timeout: 90_000,
        });
        const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
        return signal ?? code;
      };
      assert.equal(await live({ MOORING_FAILPOINT: failpoint }), "SIGKILL", "the failpoint is passed");
      assert.equal(await live({}), 0);
      const snapshots = [...driver.backend.groups.values()].map(({ volumeIds }) => [...volumeIds].sort());
      assert.deepEqual(
        snapshots,
        [[...driver.backend.volumes.keys()].sort()],
        "one snapshot, of both claims",
      );
      const store = await LocalStore.open({ path: folder, registry: testRegistry() });
      const { status } = await store.get(VolumeGroupSnapshots, { namespace: "default", name: "noon" });
      await store.close();
      assert.equal(status?.error, undefined, "the error of the first attempt is gone");
    });
  });
});
