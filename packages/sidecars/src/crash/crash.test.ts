import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { Code, type v1 } from "@mooring/csi";
import { failpointNames } from "@mooring/store";
import "../index.ts";
import { bundleProgram, killEveryFailpoint, thorough } from "@mooring/store/testing";
import type { ControllerCapability } from "../csi/driver-info.ts";
import { ScriptedDriver } from "../testing/scripted-driver.ts";
import { IMPOSSIBLE_BYTES, REFUSED } from "./troubles.ts";
import { FULL_ZONE, IMPORTED, IMPOSSIBLE_TIER, LATE_BYTES, ODD_BYTES } from "./world.ts";

const bundle = await bundleProgram(new URL("child.ts", import.meta.url));
after(bundle.remove);
const DEADLINE_MS = 240_000;

/** `build-by-nodes`: the driver has no call to expand a volume, nodes do all of it; `own-node`: see {@link ownNode}. */
type Part = "build" | "build-by-nodes" | "own-node" | "tear-down";

/** A storage system, and a store folder that lives of control planes follow each other on. */
class Place {
  readonly driver: ScriptedDriver;
  readonly #folder: string;

  constructor(driver: ScriptedDriver, folder: string) {
    this.driver = driver;
    this.#folder = folder;
  }

  /** Failpoints that all lives have passed that did their part. */
  readonly passed = new Set<string>();

  /** One life; true when it was killed at the failpoint, false when it did its part. */
  live(part: Part, failpoint?: string): Promise<boolean> {
    const { MOORING_FAILPOINT: _none, ...env } = process.env;
    const life = spawn(process.execPath, [bundle.path, this.#folder, this.driver.endpoint, part], {
      env: failpoint === undefined ? env : { ...env, MOORING_FAILPOINT: failpoint },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let passed = "";
    life.stdout.on("data", (data: Buffer) => {
      passed += data.toString();
    });
    let output = "";
    life.stderr.on("data", (data: Buffer) => {
      output += data.toString();
    });
    const timer = setTimeout(() => life.kill("SIGTERM"), DEADLINE_MS);
    return new Promise((resolve, reject) => {
      life.on("close", (code, signal) => {
        clearTimeout(timer);
        if (code === 0) for (const name of JSON.parse(passed) as string[]) this.passed.add(name);
        if (signal === "SIGKILL" && failpoint !== undefined) resolve(true);
        else if (code === 0) resolve(false);
        else reject(new Error(`${part} ended with ${code ?? signal}: ${output}`));
      });
    });
  }

  assertBuilt(): void {
    const { volumes, snapshots } = this.driver.backend;
    const names = [...volumes.values()].map(({ name }) => name);
    assert.equal(volumes.size, 9, `volumes: ${names.join()}`);
    assert.equal(snapshots.size, 5);
    const tiers = [...volumes.values()].flatMap(({ attributes }) => attributes?.tier ?? []);
    assert.deepEqual(tiers, ["gold"]);
    assert.equal([...volumes.values()].filter(({ publishedTo }) => publishedTo.size === 1).length, 2);
  }

  /** What was never imported is nobody's to delete. */
  assertEmpty(imported: "gone" | "maybe"): void {
    const { groups, volumes, snapshots } = this.driver.backend;
    const kept: string[] = imported === "maybe" ? Object.values(IMPORTED) : [];
    const left = [...volumes.keys(), ...snapshots.keys(), ...groups.keys()].filter(
      (id) => !kept.includes(id),
    );
    assert.deepEqual(left, []);
  }
}

async function withPlace<T>(use: (place: Place) => Promise<T>, can = CAN): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-crash-"));
  const driver = await ScriptedDriver.start({
    segments: { zone: "a" },
    groups: true,
    topology: true,
    nodeExpansion: (bytes) => bytes > 2n * 1024n ** 3n,
    can,
  });
  prepareBackend(driver);
  try {
    return await use(new Place(driver, folder));
  } finally {
    await driver.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

const CAN: ControllerCapability[] = [
  "CREATE_DELETE_VOLUME",
  "PUBLISH_UNPUBLISH_VOLUME",
  "CREATE_DELETE_SNAPSHOT",
  "LIST_SNAPSHOTS",
  "CLONE_VOLUME",
  "EXPAND_VOLUME",
  "GET_CAPACITY",
  "LIST_VOLUMES",
  "GET_VOLUME",
  "VOLUME_CONDITION",
  "MODIFY_VOLUME",
];

/** What is there from before, and the few things that go wrong even without a crash. */
function prepareBackend({ backend, faults }: ScriptedDriver): void {
  const made = { name: "imported", bytes: 1024n ** 3n, topology: [] };
  const volume = { ...made, id: IMPORTED.volume, fingerprint: "", publishedTo: new Set<string>() };
  backend.volumes.set(volume.id, volume);
  const snapshot = { ...made, id: IMPORTED.snapshot, volumeId: volume.id, pendingPolls: 0 };
  backend.snapshots.set(snapshot.id, snapshot);
  const member = { ...snapshot, id: IMPORTED.member, name: IMPORTED.member, groupId: IMPORTED.group };
  backend.snapshots.set(member.id, member);
  const group = {
    id: IMPORTED.group,
    name: IMPORTED.group,
    volumeIds: [volume.id],
    snapshotIds: [member.id],
  };
  backend.groups.set(group.id, group);
  const make = backend.createVolume.bind(backend);
  let tooSmall = true;
  backend.createVolume = (wanted) => {
    if (wanted.bytes !== ODD_BYTES) return make(wanted);
    const bytes = tooSmall ? 1n : wanted.bytes;
    tooSmall = false;
    return make({ ...wanted, bytes, abnormal: "cracked" });
  };
  faults.add({
    method: "CreateSnapshot",
    code: Code.INVALID_ARGUMENT,
    times: Number.POSITIVE_INFINITY,
    when: (request) => REFUSED in (request as v1.CreateSnapshotRequest).parameters,
  });
  faults.add({ method: "CreateSnapshot", code: Code.INTERNAL });
  faults.add({ method: "CreateVolumeGroupSnapshot", code: Code.INTERNAL });
  faults.add({
    method: "ControllerExpandVolume",
    code: Code.OUT_OF_RANGE,
    times: Number.POSITIVE_INFINITY,
    when: (request) =>
      (request as v1.ControllerExpandVolumeRequest).capacityRange?.requiredBytes === IMPOSSIBLE_BYTES,
  });
  faults.add({
    method: "ControllerModifyVolume",
    code: Code.INVALID_ARGUMENT,
    times: Number.POSITIVE_INFINITY,
    when: (request) =>
      (request as v1.ControllerModifyVolumeRequest).mutableParameters.tier === IMPOSSIBLE_TIER,
  });
  faults.add({
    method: "CreateVolume",
    code: Code.RESOURCE_EXHAUSTED,
    times: Number.POSITIVE_INFINITY,
    when: (request) => {
      const { accessibilityRequirements: places, capacityRange } = request as v1.CreateVolumeRequest;
      const full = places?.preferred[0]?.segments.zone === FULL_ZONE;
      return full && capacityRange?.requiredBytes === LATE_BYTES;
    },
  });
}

/** Where something exists that only the storage system and a note of ours know about. */
const UNSETTLED =
  /provision\/(protect-source|save-intent|volume-created|create-volume|create-pv|delete-intent)|snapshot-content\/(mark-being-created|data-created|create-data|write-status)|snapshot\/create-content|attach\/(attachment-protected|published)/;
/** Controllers with a story of their own. */
const APART = /^sidecars\/(group-restore|group-clone|volume-group|group-snapshot\/(freeze|ask-again))\b/;
/** Its driver cannot do what the story is about otherwise. */
const BY_NODES = "sidecars/resize/assume-expanded";
/** Only where each node has a control plane of its own. */
const ON_OWN_NODE = failpointNames().filter((name) => name.startsWith("sidecars/claim-ownership/"));
const failpoints = failpointNames().filter(
  (name) =>
    name.startsWith("sidecars/") && !APART.test(name) && name !== BY_NODES && !ON_OWN_NODE.includes(name),
);
const unsettled = failpoints.filter((name) => UNSETTLED.test(name));

test("a life that nobody kills passes every failpoint", thorough(), async () => {
  await withPlace(async (place) => {
    await place.live("build");
    place.assertBuilt();
    await place.live("tear-down");
    assert.deepEqual(
      failpoints.filter((name) => !place.passed.has(name)),
      [],
    );
  });
});

test(`killed at ${BY_NODES}: the next life ends with the same result`, thorough(), async () => {
  const use = async (place: Place) => {
    assert.ok(await place.live("build-by-nodes", BY_NODES), `${BY_NODES} was never passed`);
    await place.live("build-by-nodes");
    place.assertBuilt();
    await place.live("tear-down");
    place.assertEmpty("gone");
  };
  await withPlace(
    use,
    CAN.filter((capability) => capability !== "EXPAND_VOLUME"),
  );
});

for (const failpoint of ON_OWN_NODE)
  test(
    `killed at ${failpoint}: the next life takes the claim, and nothing is left of it`,
    thorough(),
    async () => {
      await withPlace(async (place) => {
        assert.ok(await place.live("own-node", failpoint), `${failpoint} was never passed`);
        await place.live("own-node");
        assert.deepEqual([...place.driver.backend.volumes.keys()], [IMPORTED.volume]);
      });
    },
  );

describe("control planes that are killed", { concurrency: 2 }, () => {
  killEveryFailpoint(failpoints, { everyday: 1, full: 10 }, (failpoint) => {
    test(`killed at ${failpoint}: the next life ends with the same result`, async () => {
      await withPlace(async (place) => {
        const killedInBuild = await place.live("build", failpoint);
        if (killedInBuild) await place.live("build");
        place.assertBuilt();
        const killed =
          (await place.live("tear-down", killedInBuild ? undefined : failpoint)) || killedInBuild;
        if (!killedInBuild) await place.live("tear-down");
        place.assertEmpty("gone");
        assert.ok(killed, `${failpoint} was never passed`);
      });
    });
  });

  killEveryFailpoint(unsettled, { everyday: 1, full: 10 }, (failpoint) => {
    test(`killed at ${failpoint}, and everything is deleted at once: nothing is left`, async () => {
      await withPlace(async (place) => {
        await place.live("build", failpoint);
        await place.live("tear-down");
        place.assertEmpty("maybe");
      });
    });
  });
});
