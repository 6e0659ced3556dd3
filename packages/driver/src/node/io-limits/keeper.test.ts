import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createHost, type LoopDevice, majorMinor, type Volume, Volumes } from "@mooring/engine";
import { type ObjectStore, silentLogger } from "@mooring/store";
import { endAtRest, eventually } from "@mooring/store/testing";
import type { NodeContext } from "../context.ts";
import { NodeRecords } from "../records.ts";
import { IoLimitKeeper } from "./keeper.ts";

const host = createHost();
const NODE = "node-1";
const LIMITED = "rbps=max wbps=max riops=max wiops=50";

/** A volume that is attached here and published for a workload, with a limit. */
interface Used {
  volume: Volume;
  device: LoopDevice;
  workload: string;
}

/** A machine with two volumes, whose control groups are folders. */
class Machine {
  readonly folder: string;
  readonly records: NodeRecords;
  readonly #devices: LoopDevice[] = [];

  constructor(folder: string) {
    this.folder = folder;
    this.records = new NodeRecords(folder);
  }

  async prepare(): Promise<void> {
    await mkdir(join(this.folder, "groups"));
    await writeFile(join(this.folder, "groups", "cgroup.controllers"), "cpu io\n");
    await writeFile(join(this.folder, "groups", "cgroup.subtree_control"), "");
  }

  async use(name: string): Promise<Used> {
    const image = join(this.folder, `${name}.img`);
    await writeFile(image, "");
    await truncate(image, 1024 ** 2);
    const device = await host.loops.attach(image);
    this.#devices.push(device);
    const workload = randomUUID();
    const volume: Volume = {
      ...{
        apiVersion: "storage.mooring.dev/v1alpha1",
        kind: "Volume",
        metadata: { name, uid: randomUUID() },
      },
      spec: {
        ...{ size: 1024 ** 2, pool: "p", volumeMode: "Filesystem", accessMode: "rwo" },
        mutableParameters: { writeIOPS: "50" },
      },
      status: { state: "attached", currentNodeID: NODE, device: device.path },
    };
    const target = {
      access: "mount",
      readOnly: false,
      multiTarget: false,
      arguments: "",
      made: false,
    } as const;
    const record = { volumeId: name, volumeUID: volume.metadata.uid ?? "" };
    await this.records.put({ ...record, published: { [`/pods/${workload}/mount`]: target } });
    return { volume, device, workload };
  }

  keeper(store: Pick<ObjectStore, "get">): IoLimitKeeper {
    const { records, folder } = this;
    const common = { host, records, nodeID: NODE, logger: silentLogger };
    return new IoLimitKeeper({
      ...common,
      store,
      cgroupRoot: join(folder, "groups"),
    } as unknown as NodeContext);
  }

  /** Where nothing can be written to the limits when `broken`. */
  async makeGroup(workload: string, broken = false): Promise<void> {
    const group = join(this.folder, "groups", `pod${workload}`);
    await mkdir(group);
    if (broken) await mkdir(join(group, "io.max"));
    else await writeFile(join(group, "io.max"), "");
  }

  async isLimited({ device, workload }: Used): Promise<boolean> {
    const line = `${majorMinor((await stat(device.path)).rdev)} ${LIMITED}`;
    return (await readFile(join(this.folder, "groups", `pod${workload}`, "io.max"), "utf8")) === line;
  }

  async end(): Promise<void> {
    for (const device of this.#devices) await host.loops.detach(device);
    await rm(this.folder, { recursive: true });
  }
}

async function machine(t: { after(end: () => Promise<void>): void }): Promise<Machine> {
  const made = new Machine(await mkdtemp(join(tmpdir(), "mooring-limits-")));
  t.after(() => endAtRest(() => made.end()));
  await made.prepare();
  return made;
}

function keeping(keeper: IoLimitKeeper): () => Promise<void> {
  const stop = new AbortController();
  const done = keeper.run(stop.signal);
  return async () => {
    stop.abort();
    await done;
  };
}

test("what cannot be read at the start is read again, and keeps no other volume from its limits", async (t) => {
  const here = await machine(t);
  const [one, two] = [await here.use("v-one"), await here.use("v-two")];
  for (const { workload } of [one, two]) await here.makeGroup(workload);
  let responses = 0;
  const get = async (resource: unknown, { name }: { name: string }): Promise<Volume> => {
    assert.equal(resource, Volumes);
    // No server at first; later it has one of the two, and fails with the other.
    if (name === "v-one" || ++responses < 2) throw new Error("no response");
    return two.volume;
  };
  const end = keeping(here.keeper({ get } as unknown as ObjectStore));
  await eventually("the limit of the one that can be read", () => here.isLimited(two)).finally(end);
  assert.equal(await here.isLimited(one), false);
});

test("a group that takes no limits keeps no other volume from its own", async (t) => {
  const here = await machine(t);
  const [one, two] = [await here.use("v-one"), await here.use("v-two")];
  // Nothing more is read than what the calls of the test hand over.
  const get = async () => undefined;
  const keeper = here.keeper({ get } as unknown as ObjectStore);
  await here.makeGroup(one.workload, true);
  await keeper.follow(one.volume);
  await keeper.follow(two.volume);
  const end = keeping(keeper);
  await here.makeGroup(two.workload);
  await eventually("the limit of the other", () => here.isLimited(two)).finally(end);
});

test("the record of an earlier volume of the same name names no workload of this one", async (t) => {
  const here = await machine(t);
  const { volume, device, workload } = await here.use("v-again");
  await here.makeGroup(workload);
  const next = { ...volume, metadata: { ...volume.metadata, uid: randomUUID() } };
  await here.keeper({} as ObjectStore).follow(next);
  assert.equal(await here.isLimited({ volume: next, device, workload }), false);
});
