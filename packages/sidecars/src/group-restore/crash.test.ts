import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { failpointNames, LocalStore, PersistentVolumeClaims } from "@mooring/store";
import { bundleProgram, killEveryFailpoint } from "@mooring/store/testing";
import { testRegistry } from "../testing/registry.ts";
import { ScriptedDriver } from "../testing/scripted-driver.ts";
import "./index.ts";
import { RESTORE_LABEL } from "../kube/group-restore.ts";
import { VolumeGroups } from "../kube/volume-group.ts";
import { handleOf } from "./testing/group.ts";

const bundle = await bundleProgram(new URL("testing/crash-child.ts", import.meta.url));
after(bundle.remove);
const failpoints = failpointNames().filter((name) => name.startsWith("sidecars/group-restore/"));
/** Each failpoint is passed once per claim, and once per phase; those of the group and of all claims only once. */
const PASSES = ["", "#2"];
const passesOf = (name: string) =>
  (/\/create-(group|claims)$/.test(name) ? [""] : PASSES).map((pass) => name + pass);

test("there are failpoints to crash at", () => assert.equal(failpoints.length, 4));

describe("a restore whose control plane is killed", { concurrency: 2 }, () => {
  const passes = failpoints.flatMap(passesOf);
  killEveryFailpoint(passes, { everyday: 1 }, (failpoint) => {
    test(`killed at ${failpoint}: the next life ends with the same claims, each made once`, async (t) => {
      const folder = await mkdtemp(join(tmpdir(), "mooring-restore-crash-"));
      const driver = await ScriptedDriver.start({
        can: ["CREATE_DELETE_VOLUME", "CREATE_DELETE_SNAPSHOT"],
        volumeGroups: ["modify", "get", "list"],
      });
      t.after(async () => {
        await driver.stop();
        await rm(folder, { recursive: true, force: true });
      });
      for (const name of ["data", "wal"]) {
        const snapshot = { id: handleOf(name), name, volumeId: name, bytes: 1024n ** 3n, pendingPolls: 0 };
        driver.backend.snapshots.set(snapshot.id, snapshot);
      }
      const live = async (env: NodeJS.ProcessEnv) => {
        const args = [bundle.path, folder, driver.endpoint];
        const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: "inherit" });
        const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
        return signal ?? code;
      };
      assert.equal(await live({ MOORING_FAILPOINT: failpoint }), "SIGKILL", "the failpoint is passed");
      assert.equal(await live({}), 0);
      const store = await LocalStore.open({ path: folder, registry: testRegistry() });
      const made = await store.list(PersistentVolumeClaims, { labelSelector: `${RESTORE_LABEL}=again` });
      const groups = (await store.list(VolumeGroups)).items.map(({ metadata, status }) => [
        metadata.name,
        status?.members?.map(({ claimName, state }) => `${claimName} ${state}`).join(),
      ]);
      await store.close();
      assert.deepEqual(groups, [["again", "data-again Joined,wal-again Joined"]]);
      assert.equal(driver.volumeGroups.groups.size, 1, "one group on the storage system");
      assert.deepEqual(made.items.map(({ metadata }) => metadata.name).sort(), ["data-again", "wal-again"]);
      assert.equal(driver.backend.volumes.size, 3, "one volume per claim");
    });
  });
});
