import { execFile } from "node:child_process";
import { mkdir, mkdtemp, open, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  type AttacherType,
  addTicket,
  createHost,
  decide,
  MOORING_API_VERSION,
  removeTickets,
  startAgent,
  startArbiter,
  ticketStatus,
  type Volume,
  VolumeAttachments,
  Volumes,
} from "@mooring/engine";
import { Leases, LocalStore, silentLogger, waitFor } from "@mooring/store";
import { endAtRest } from "@mooring/store/testing";
import { ticket, view } from "../../packages/engine/src/cluster/arbiter/testing/build-view.ts";
import { engineRegistry } from "../../packages/engine/src/testing/agent.ts";
import { cleanUp } from "../../packages/engine/src/testing/scratch.ts";
import { type Measurement, median, sized, time } from "./measure.ts";

const command = promisify(execFile);
const ROUNDS = sized(20, 2);
const MANY = sized(500, 8);
const DECISIONS = sized(20_000, 500);
const MIB = 1024 ** 2;
const patience = (): AbortSignal => AbortSignal.timeout(180_000);

/** An arbiter and the agents of two nodes, each with a pool of its own and one that they share. */
class Machine {
  readonly folder: string;
  readonly store: LocalStore;
  readonly host = createHost();
  readonly #stop = new AbortController();
  #running: Promise<void>[] = [];

  private constructor(folder: string, store: LocalStore) {
    this.folder = folder;
    this.store = store;
  }

  static async start(): Promise<Machine> {
    const folder = await mkdtemp(join(tmpdir(), "mooring-bench-"));
    const registry = engineRegistry();
    registry.register({ resource: Leases, hasStatus: false });
    const machine = new Machine(folder, await LocalStore.open({ path: join(folder, "store"), registry }));
    try {
      await machine.#begin();
      return machine;
    } catch (error) {
      await machine.end();
      throw error;
    }
  }

  async #begin(): Promise<void> {
    const { store, host } = this;
    const shared = join(this.folder, "shared");
    const file = join(this.folder, "shared.img");
    await mkdir(shared);
    await sparse(file, 4096 * MIB);
    await command("mkfs.xfs", ["-q", "-m", "reflink=1", "-s", "size=4096", file]);
    const { path: source } = await host.loops.attach(file);
    await host.mounts.mount({ source, target: shared, options: ["nouuid"] });
    const common = { store, host, logger: silentLogger, signal: this.#stop.signal };
    for (const nodeID of ["a", "b"]) {
      const pools = [
        { name: `own-${nodeID}`, type: "xfs" as const, size: 20_480 * MIB },
        { name: "common", type: "xfs" as const, shared: true, path: shared, overcommit: 10 },
      ];
      const stateDir = join(this.folder, nodeID);
      const agent = await startAgent({ ...common, nodeID, stateDir, pools, leases: {}, releaseOnStop: true });
      this.#running.push(agent.done);
    }
    this.#running.push((await startArbiter(common)).done);
  }

  /** Throws what anything has slept through, once all has ended. */
  async end(): Promise<void> {
    const stop = async () => {
      this.#stop.abort();
      await Promise.allSettled(this.#running);
      await this.store.close();
      await cleanUp(this.host, this.folder);
    };
    await endAtRest(stop, { store: this.store });
  }

  async volume(name: string, pool: string): Promise<void> {
    const volume: Volume = {
      apiVersion: MOORING_API_VERSION,
      kind: "Volume",
      metadata: { name },
      spec: { size: 16 * MIB, pool, volumeMode: "Block", accessMode: "rwo" },
    };
    await this.store.create(Volumes, volume);
    await this.is(name, "detached");
  }

  async attach(name: string, nodeID: string): Promise<void> {
    const type: AttacherType = "csi-attacher";
    await addTicket(this.store, name, { id: `t-${nodeID}`, type, nodeID }, { now: new Date() });
    const satisfied = (id: string) =>
      waitFor(
        this.store,
        { resource: VolumeAttachments, key: { name } },
        (a) => a !== undefined && ticketStatus(a, id)?.satisfied === true,
        patience(),
      );
    await satisfied(`t-${nodeID}`);
  }

  async detach(name: string): Promise<void> {
    await removeTickets(this.store, name, () => true);
    await this.is(name, "detached");
  }

  async is(name: string, state: string): Promise<void> {
    await waitFor(
      this.store,
      { resource: Volumes, key: { name } },
      (v) => v?.status?.state === state,
      patience(),
    );
  }
}

async function sparse(path: string, bytes: number): Promise<void> {
  await (await open(path, "wx")).close();
  await truncate(path, bytes);
}

/** The device commands alone, on plain files. */
class Raw {
  readonly #folder: string;
  constructor(folder: string) {
    this.#folder = folder;
  }

  async make(name: string): Promise<string> {
    const path = join(this.#folder, `raw-${name}`);
    await sparse(path, 16 * MIB);
    return path;
  }

  async attach(path: string): Promise<string> {
    const { stdout } = await command("losetup", ["-f", "--show", "--direct-io=on", "-b", "4096", path]);
    return stdout.trim();
  }

  async detach(device: string): Promise<void> {
    await command("losetup", ["-d", device]);
  }
}

async function oneAtATime(machine: Machine, raw: Raw): Promise<Measurement[]> {
  await machine.volume("v-one", "own-a");
  const path = await raw.make("one");
  let device = "";
  const opened: number[] = [];
  const closed: number[] = [];
  const attach = await time(ROUNDS, async () => {
    await machine.attach("v-one", "a");
    const start = performance.now();
    await machine.detach("v-one");
    closed.push(performance.now() - start);
  });
  const rawAttach = await time(ROUNDS, async () => {
    const start = performance.now();
    device = await raw.attach(path);
    opened.push(performance.now() - start);
    await raw.detach(device);
  });
  const detach = median(closed);
  const rawOpen = median(opened);
  const ms = { unit: "ms", baselineName: "losetup" };
  return [
    { name: "ticket to attached", value: attach - detach, baseline: rawOpen, ...ms },
    { name: "ticket gone to detached", value: detach, baseline: rawAttach - rawOpen, ...ms },
  ];
}

async function move(machine: Machine, raw: Raw): Promise<Measurement[]> {
  await machine.volume("v-moves", "common");
  await machine.attach("v-moves", "a");
  const path = await raw.make("moves");
  const value = await time(ROUNDS, async (round) => {
    await removeTickets(machine.store, "v-moves", () => true);
    await machine.attach("v-moves", round % 2 === 0 ? "b" : "a");
  });
  await machine.detach("v-moves");
  let device = await raw.attach(path);
  const baseline = await time(ROUNDS, async () => {
    await raw.detach(device);
    device = await raw.attach(path);
  });
  await raw.detach(device);
  return [{ name: "move between nodes (shared pool)", unit: "ms", value, baseline, baselineName: "losetup" }];
}

async function many(machine: Machine, raw: Raw): Promise<Measurement[]> {
  const names = Array.from({ length: MANY }, (_, index) => `v-many-${index}`);
  await Promise.all(names.map((name) => machine.volume(name, "own-a")));
  const value = await time(1, async () => {
    await Promise.all(names.map((name) => machine.attach(name, "a")));
  });
  const back = await time(1, async () => {
    await Promise.all(names.map((name) => machine.detach(name)));
  });
  const paths: string[] = [];
  for (const name of names) paths.push(await raw.make(name));
  const devices: string[] = [];
  const baseline = await time(1, async () => {
    for (const path of paths) devices.push(await raw.attach(path));
  });
  const baselineBack = await time(1, async () => {
    for (const device of devices) await raw.detach(device);
  });
  const ms = { unit: "ms", baselineName: "losetup, one by one" };
  return [
    { name: `${MANY} volumes attached at once`, value, baseline, ...ms },
    { name: `${MANY} volumes detached at once`, value: back, baseline: baselineBack, ...ms },
  ];
}

/** The pure part: ten tickets of several kinds on three nodes. */
function decisions(): Measurement {
  const tickets = Array.from({ length: 10 }, (_, index) =>
    ticket(
      `t-${index}`,
      index % 2 === 0 ? "csi-attacher" : "snapshot-controller",
      ["a", "b", "c"][index % 3] ?? "a",
    ),
  );
  const seen = view({ tickets, status: { state: "detached" } });
  const start = performance.now();
  for (let round = 0; round < DECISIONS; round += 1) decide(seen);
  const perSecond = DECISIONS / ((performance.now() - start) / 1000);
  return { name: "decisions per second, 10 tickets", unit: "1/s", value: perSecond };
}

export async function run(): Promise<Measurement[]> {
  const machine = await Machine.start();
  try {
    const folder = join(machine.folder, "raw");
    await mkdir(folder);
    const raw = new Raw(folder);
    return [
      ...(await oneAtATime(machine, raw)),
      ...(await move(machine, raw)),
      ...(await many(machine, raw)),
      decisions(),
    ];
  } finally {
    await machine.end();
    await rm(machine.folder, { recursive: true, force: true });
  }
}
