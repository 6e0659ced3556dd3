import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, type TestContext, test } from "node:test";
import { failpointNames, LocalStore, VolumeGroupSnapshots } from "@mooring/store";
import { bundleProgram, killEveryFailpoint } from "@mooring/store/testing";
import { VolumeGroupRestores } from "../kube/group-restore.ts";
import { VolumeGroups } from "../kube/volume-group.ts";
import { testRegistry } from "../testing/registry.ts";
import { ScriptedDriver } from "../testing/scripted-driver.ts";
import "./index.ts";

const bundle = await bundleProgram(new URL("testing/crash-child.ts", import.meta.url));
after(bundle.remove);
const failpoints = failpointNames().filter((name) => name.startsWith("sidecars/group-clone/"));
/** Where a snapshot, or a claim, may be there that only the clone asks for. */
const unsettled = failpoints.filter((name) => /\/(add-finalizer|create-snapshot|create-restore)$/.test(name));

async function startPlace(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-clone-crash-"));
  const driver = await ScriptedDriver.start({
    can: ["CREATE_DELETE_VOLUME", "CREATE_DELETE_SNAPSHOT"],
    groups: true,
    volumeGroups: ["modify", "get", "list"],
  });
  t.after(async () => {
    await driver.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const live = async (part: "clone" | "give-up", point?: string) => {
    const { MOORING_FAILPOINT: _none, ...rest } = process.env;
    const env = point === undefined ? rest : { ...rest, MOORING_FAILPOINT: point };
    const args = [bundle.path, folder, driver.endpoint, part];
    const child = spawn(process.execPath, args, { env, stdio: "inherit", timeout: 90_000 });
    const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
    return signal ?? code;
  };
  /** The internal objects, and the groups with their members. */
  const stored = async () => {
    const store = await LocalStore.open({ path: folder, registry: testRegistry() });
    const snapshots = (await store.list(VolumeGroupSnapshots)).items;
    const restores = (await store.list(VolumeGroupRestores)).items;
    const groups = (await store.list(VolumeGroups)).items.map(({ metadata, status }) => {
      const members = status?.members?.map(({ claimName, state }) => `${claimName} ${state}`) ?? [];
      return `${metadata.name}: ${members.sort().join()}`;
    });
    await store.close();
    return { internal: [...snapshots, ...restores].map(({ metadata }) => metadata.name), groups };
  };
  return { driver, live, stored };
}

test("there are failpoints to crash at", () =>
  assert.deepEqual([failpoints.length, unsettled.length], [7, 3]));

describe("a clone whose control plane is killed", { concurrency: 2 }, () => {
  killEveryFailpoint(failpoints, { everyday: 1 }, (point) => {
    test(`killed at ${point}: the next life ends with one group of copies, and without the snapshot`, async (t) => {
      const { driver, live, stored } = await startPlace(t);
      assert.equal(await live("clone", point), "SIGKILL", "the failpoint is passed");
      assert.equal(await live("clone"), 0);
      const { groups, internal } = await stored();
      assert.deepEqual(groups.sort(), ["copy: a-copy Joined,b-copy Joined", "db: a Joined,b Joined"]);
      assert.deepEqual(internal, []);
      const { backend, volumeGroups } = driver;
      assert.deepEqual([...backend.groups.keys(), ...backend.snapshots.keys()], [], "no snapshot is left");
      assert.deepEqual(
        [backend.volumes.size, volumeGroups.groups.size],
        [4, 2],
        "each claim and each group is made once",
      );
    });
  });

  killEveryFailpoint(unsettled, { everyday: 0 }, (point) => {
    test(`killed at ${point}, and the clone is deleted at once: no snapshot is left`, async (t) => {
      const { driver, live, stored } = await startPlace(t);
      assert.equal(await live("clone", point), "SIGKILL", "the failpoint is passed");
      assert.equal(await live("give-up"), 0);
      assert.deepEqual((await stored()).internal, []);
      const { groups, snapshots } = driver.backend;
      assert.deepEqual([...groups.keys(), ...snapshots.keys()], []);
    });
  });
});
