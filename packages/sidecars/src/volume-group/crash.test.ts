import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, describe, type TestContext, test } from "node:test";
import { failpointNames, LocalStore } from "@mooring/store";
import { bundleProgram, killEveryFailpoint, thorough } from "@mooring/store/testing";
import { testRegistry } from "../testing/registry.ts";
import { ScriptedDriver } from "../testing/scripted-driver.ts";
import "./index.ts";
import { VolumeGroups } from "../kube/volume-group.ts";
import { IMPORTED } from "./testing/crash-story.ts";

const bundle = await bundleProgram(new URL("testing/crash-child.ts", import.meta.url));
after(bundle.remove);
const failpoints = failpointNames().filter((name) => name.startsWith("sidecars/volume-group/"));
/** Where a group, or a member, exists that only the storage system or a mark of ours shows. */
const UNSETTLED =
  /\/(create-content|bind-content|mark-being-created|group-created|record|claim-protected|group-modified)$/;
const unsettled = failpoints.filter((name) => UNSETTLED.test(name));

const DEADLINE_MS = 90_000;
type Part = "build" | "tear-down";

/** A storage system, and lives of control planes that follow each other on one store. */
async function startPlace(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-group-crash-"));
  const driver = await ScriptedDriver.start({
    can: ["CREATE_DELETE_VOLUME"],
    volumeGroups: ["modify", "get", "list"],
  });
  t.after(async () => {
    await driver.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const { groups } = driver.volumeGroups;
  groups.set(IMPORTED, { id: IMPORTED, name: "by hand", parameters: "[]", members: new Set() });
  const passed = new Set<string>();
  /** True when it was killed at the failpoint, false when it did its part. */
  const live = async (part: Part, point?: string): Promise<boolean> => {
    const { MOORING_FAILPOINT: _none, ...rest } = process.env;
    const env = point === undefined ? rest : { ...rest, MOORING_FAILPOINT: point };
    const args = [bundle.path, folder, driver.endpoint, part];
    const child = spawn(process.execPath, args, {
      env,
      stdio: ["inherit", "pipe", "inherit"],
      timeout: DEADLINE_MS,
    });
    const output = text(child.stdout);
    const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
    if (signal === "SIGKILL" && point !== undefined) return true;
    assert.equal(signal ?? code, 0, `${part} is done`);
    for (const name of JSON.parse(await output) as string[]) passed.add(name);
    return false;
  };
  const members = async (): Promise<Record<string, string[]>> => {
    const store = await LocalStore.open({ path: folder, registry: testRegistry() });
    const { items } = await store.list(VolumeGroups);
    await store.close();
    const handles = items.map(({ metadata, status }): [string, string[]] => [
      metadata.name,
      (status?.members ?? []).map(({ volumeHandle = "" }) => volumeHandle).sort(),
    ]);
    return Object.fromEntries(handles);
  };
  return { driver, live, members, passed };
}

type Place = Awaited<ReturnType<typeof startPlace>>;

/** The volumes of the group that takes its members along. */
async function assertBuilt({ driver, members }: Place): Promise<string[]> {
  const { db = [], doomed = [], imported = [] } = await members();
  const { groups } = driver.volumeGroups;
  const stored = [...groups.values()].map((group) => [...group.members].sort().join());
  assert.deepEqual(stored.sort(), [db, doomed, imported].map((each) => each.join()).sort());
  assert.deepEqual([...(groups.get(IMPORTED)?.members ?? [])], imported);
  assert.deepEqual([db.length, doomed.length, imported.length], [2, 2, 1]);
  assert.equal(driver.backend.volumes.size, 6, "one volume per claim");
  return doomed;
}

test("a life that nobody kills passes every failpoint", thorough(), async (t) => {
  const { live, passed } = await startPlace(t);
  await live("build");
  await live("tear-down");
  assert.deepEqual(
    failpoints.filter((name) => !passed.has(name)),
    [],
  );
});

describe("volume groups whose control plane is killed", { concurrency: 2 }, () => {
  killEveryFailpoint(failpoints, { everyday: 1, full: 8 }, (point) => {
    test(`killed at ${point}: the next life has the same members, and deletes what it may`, async (t) => {
      const place = await startPlace(t);
      const inBuild = await place.live("build", point);
      if (inBuild) await place.live("build");
      const doomed = await assertBuilt(place);
      if (!inBuild) assert.ok(await place.live("tear-down", point), `${point} was never passed`);
      await place.live("tear-down");
      const { backend, volumeGroups } = place.driver;
      assert.deepEqual([...volumeGroups.groups.keys(), ...backend.volumes.keys()], [], "nothing is left");
      assert.deepEqual(
        [...volumeGroups.deletedVolumes].sort(),
        doomed,
        "no other volume went with its group",
      );
    });
  });

  killEveryFailpoint(unsettled, { everyday: 1, full: 4 }, (point) => {
    test(`killed at ${point}, and everything is deleted at once: no group is left`, async (t) => {
      const place = await startPlace(t);
      assert.ok(await place.live("build", point), `${point} was never passed`);
      await place.live("tear-down");
      const { backend, volumeGroups } = place.driver;
      // What was never brought in is nobody's to delete.
      const left = [...volumeGroups.groups.keys()].filter((id) => id !== IMPORTED);
      assert.deepEqual([...left, ...backend.volumes.keys()], []);
    });
  });
});
