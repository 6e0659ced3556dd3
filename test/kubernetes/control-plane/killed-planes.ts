import assert from "node:assert/strict";
import { join } from "node:path";
import { defined, type RestStore } from "@mooring/store";
import { runMiniKube } from "../../../packages/sidecars/src/testing/mini-kube.ts";
import { type Driver, NODE, prepareDriver } from "../../csi/support/driver.ts";
import { MooringProcess, plainEnvironment } from "../../csi/support/process.ts";
import { sleepersSocket } from "../../support/sleepers.ts";
import { DRIVER, prepare } from "../switch-over/cluster.ts";
import { Work } from "../switch-over/work.ts";
import { type Server, startServer } from "./server.ts";

/** A real API server and a driver with real volumes, on which control planes follow each other. */
export interface World {
  store: RestStore;
  driver: Driver;
  /** A control plane around the driver. `failpoint`: it is killed there, the first time that it comes by. */
  start(failpoint?: string): MooringProcess;
  /** Throws when the driver has left anything on the machine. */
  end(): Promise<void>;
}

/** The binder's and the kubelet's part are played by few lines. */
export async function startWorld(): Promise<World> {
  const undo: (() => Promise<unknown>)[] = [];
  const end = async () => {
    const failures: unknown[] = [];
    for (const each of undo.splice(0).reverse()) await each().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  };
  try {
    const server = await startServer();
    undo.push(server.end);
    const driver = await prepareDriver({ poolSize: "4Gi" });
    undo.push(() => driver.dispose());
    await driver.start();
    await prepare(server.store, driver);
    const kube = new AbortController();
    const binding = runMiniKube(server.store, kube.signal, { kubelet: true });
    undo.push(async () => {
      kube.abort();
      await binding;
    });
    return {
      ...{ store: server.store, driver, end },
      start: (failpoint) => startController(server, driver, failpoint),
    };
  } catch (error) {
    await end().catch(() => {});
    throw error;
  }
}

function startController(
  { folder, kubeconfig }: Server,
  driver: Driver,
  failpoint: string | undefined,
): MooringProcess {
  const args = ["controller", "--csi-address", driver.endpoint, "--kubeconfig", kubeconfig];
  return new MooringProcess([...args, "--log-level", "warn"], {
    ...{ ...plainEnvironment(), ...sleepersSocket(join(folder, "sleepers")) },
    ...defined({ MOORING_FAILPOINT: failpoint }),
  });
}

/** A control plane that is killed once, and the one that comes after it. */
class Plane {
  readonly #world: World;
  #controller: MooringProcess;
  killed = false;

  constructor(world: World, failpoint: string) {
    this.#world = world;
    this.#controller = world.start(failpoint);
  }

  /** Resolves with the work. Who is killed meanwhile has a successor at once. */
  async during(work: Promise<void>): Promise<void> {
    const done = work.then(() => DONE);
    while ((await Promise.race([done, this.#controller.ended()])) !== DONE) await this.another();
  }

  /** Resolves when it has been killed, or when the work has ended without that. */
  async killedDuring(work: Promise<void>): Promise<boolean> {
    const done = work.then(() => DONE);
    const first = await Promise.race([done, this.#controller.ended()]);
    return first !== DONE || (await this.#isKilledAtRest());
  }

  /** Another one, in the place of one that was killed. */
  async another(): Promise<void> {
    const how = await this.#controller.ended();
    if (how !== "SIGKILL" || this.killed)
      throw new Error(`mooring controller ended with ${how}: ${this.#controller.stderr}`);
    this.killed = true;
    this.#controller = this.#world.start();
  }

  /** With nothing left to do. Throws when it was never killed, or does not end as it should. */
  async end(): Promise<void> {
    if (!this.killed && (await this.#isKilledAtRest())) await this.another();
    assert.ok(this.killed, "the failpoint was never passed");
    await this.#controller.atRest();
    assert.equal(await this.#controller.end("SIGTERM"), 0, this.#controller.stderr);
  }

  async abort(): Promise<void> {
    await this.#controller.end("SIGKILL");
  }

  /** The last step of all may be the one behind which it is killed. */
  async #isKilledAtRest(): Promise<boolean> {
    await this.#controller.atRest().catch((error: unknown) => {
      if (this.#controller.alive) throw error;
    });
    return !this.#controller.alive;
  }
}

const DONE = Symbol("done");

async function withPlane(
  world: World,
  failpoint: string,
  use: (plane: Plane) => Promise<void>,
): Promise<void> {
  const plane = new Plane(world, failpoint);
  try {
    await use(plane);
    await plane.end();
  } catch (error) {
    await plane.abort();
    throw error;
  }
}

/** Claims, an attachment, a snapshot with a restore, a clone, a group snapshot, a growth: what there is when all is done. */
async function build(work: Work): Promise<void> {
  const [source = ""] = await work.claims("source", 1);
  await work.bound([source]);
  const group = await work.claims("member", 2, { group: "group" });
  const clones = await work.claims("clone", 1, {
    source: () => ({ kind: "PersistentVolumeClaim", name: source }),
  });
  const snapshots = await work.snapshots("snapshot", [source]);
  await work.attached(source, { attacher: DRIVER, nodeName: NODE });
  await work.ready(snapshots);
  const restored = await work.restores("restored", snapshots);
  await work.bound([...group, ...clones, ...restored]);
  await work.groupsReady(await work.groupSnapshots(["group"]));
  await Promise.all(restored.map((claim) => work.grown(claim, "32Mi")));
}

/**
 * All of that, and its deletion. The control plane is killed at the failpoint, and another one goes on. Throws when nothing
 * has killed it, or anything is left, at the driver or at the server.
 */
export function killedAt(world: World, failpoint: string): Promise<void> {
  return withPlane(world, failpoint, async (plane) => {
    const work = new Work(world);
    await plane.during(build(work));
    await plane.during(work.removeAll());
  });
}

/** The same, but everything is deleted while no control plane is there. */
export function killedAndAbandoned(world: World, failpoint: string): Promise<void> {
  return withPlane(world, failpoint, async (plane) => {
    const over = new AbortController();
    const building = build(new Work(world, over.signal)).catch((error: unknown) => {
      if (!over.signal.aborted) throw error;
    });
    const isKilled = await plane.killedDuring(building);
    over.abort();
    await building;
    assert.ok(isKilled, "the failpoint was never passed");
    const work = new Work(world);
    await work.abandonAll();
    await plane.another();
    await plane.during(work.removeAll());
  });
}
