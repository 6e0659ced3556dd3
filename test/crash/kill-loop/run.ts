import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Pools } from "@mooring/engine";
import { VolumeGroupClasses } from "@mooring/sidecars";
import {
  defined,
  isAlreadyExists,
  type KubeObject,
  mutate,
  Namespaces,
  type ObjectStore,
  type Resource,
  RestStore,
} from "@mooring/store";
import type { Random } from "@mooring/store/testing";
import { Up } from "../../support/up.ts";
import { Clock } from "./clock.ts";
import { EVENTS, type LoopEvent } from "./events.ts";
import { GROUP_CLASS, GroupClient } from "./group-client.ts";
import { Ledger } from "./ledger.ts";
import { churn, Life, NAMESPACE } from "./life.ts";
import { ObjectClient } from "./object-client.ts";
import { VolumeClient } from "./volume-client.ts";

/** Events that there may be, for a developer who is after one of them. */
const ONLY = new RegExp(process.env["MOORING_KILL_EVENTS"] ?? "");

export interface LoopOptions {
  pool: "xfs" | "btrfs";
  /** Its writers wait before it is full, instead of failing. */
  holds: boolean;
  /** A folder of its own, outside of the state folder. */
  folder: string;
  random: Random;
  failpoints: readonly string[];
}

/** A `mooring up` that is killed again and again while clients use it, and what it has acknowledged. */
export class KillLoop {
  readonly up: Up;
  readonly clock: Clock;
  readonly ledger = new Ledger();
  readonly random: Random;
  readonly holds: boolean;
  readonly volumes: readonly VolumeClient[];
  readonly groups: GroupClient;
  readonly #objects = [new ObjectClient(0), new ObjectClient(1)];
  readonly #failpoints: readonly string[];
  readonly #acks: string;
  /** How often which event was. */
  readonly events = new Map<string, number>();
  kills = 0;
  /** Objects that a restore of the state has put back to what they were. */
  excluded = 0;

  private constructor(up: Up, { folder, random, failpoints, holds }: LoopOptions, clock: Clock) {
    this.up = up;
    this.holds = holds;
    this.clock = clock;
    this.random = random;
    this.#failpoints = failpoints;
    this.#acks = join(folder, "acks");
    this.volumes = [0, 1, 2].map(
      (index) => new VolumeClient({ ledger: this.ledger, acks: this.#acks, index, holds }),
    );
    this.groups = new GroupClient(this.ledger);
  }

  static async create(options: LoopOptions): Promise<KillLoop> {
    const clock = new Clock(join(options.folder, "clock"));
    const up = await Up.create({
      ...{ pool: options.pool, poolSize: "768Mi", env: clock.env },
      args: ["--pool-overcommit", "10"],
      // Several systems share the processors, and each has to find what its last life left.
      startWithinMs: 600_000,
    });
    return new KillLoop(up, options, clock);
  }

  /** One life: an event, clients, a kill. Resolves with what is wrong. */
  async live(): Promise<string[]> {
    const event = this.random.weighted(EVENTS.filter(({ name }) => ONLY.test(name)));
    const failpoint = this.random.chance(0.4) ? this.#failpoint() : undefined;
    // One kills where its failpoint is, or, when nothing comes by there, when so much is acknowledged.
    const operations = failpoint === undefined ? this.random.between(1, 40) : 60;
    const of = `event ${event.name}, failpoint ${failpoint}, after ${operations}`;
    try {
      return (await this.#oneLife(event, { failpoint, operations })).map((each) => `${each} (${of})`);
    } catch (cause) {
      const now = new Date(this.clock.now()).toISOString();
      const kernel = await kernelLog();
      throw new Error(`${of}, clock ${now}: ${cause}\n${this.up.output.slice(-20_000)}\n${kernel}`, {
        cause,
      });
    }
  }

  async #oneLife(
    event: LoopEvent,
    { failpoint, operations }: { failpoint: string | undefined; operations: number },
  ): Promise<string[]> {
    await this.up.start(defined({ MOORING_FAILPOINT: failpoint }), { mayDie: true });
    const wrong: string[] = [];
    const life = await this.#life(operations);
    if (life !== undefined && (await life.lives(async () => wrong.push(...(await this.check(life)))))) {
      this.events.set(event.name, (this.events.get(event.name) ?? 0) + 1);
      await this.#churn(life, event);
    }
    await this.up.end("SIGKILL");
    this.kills += 1;
    await event.dead?.(this, wrong);
    return wrong;
  }

  async #churn(life: Life, event: LoopEvent): Promise<void> {
    const clients = [...this.#objects, ...this.volumes, this.groups];
    const alive = event.alive?.bind(event);
    const once = async () => void (await life.lives(async () => alive?.(this, life)));
    await Promise.all([once(), churn(life, clients, this.random)]);
  }

  /** What is there against what was acknowledged. */
  async check(life: Life): Promise<string[]> {
    const wrong = await this.ledger.settle(life.store);
    for (const client of this.volumes) wrong.push(...(await client.inspect(life)));
    return wrong;
  }

  /** A start without a kill at its end. */
  async startWhole(): Promise<Life> {
    await this.up.start();
    return (await this.#life(Number.POSITIVE_INFINITY)) ?? this.startWhole();
  }

  /** Pods are stopped with everything else, and are not the same processes afterwards. */
  forgetContainers(): void {
    for (const client of this.volumes) client.forgetContainer();
  }

  #failpoint(): string {
    return `${this.random.one(this.#failpoints)}#${this.random.between(1, 3)}`;
  }

  async #life(operations: number): Promise<Life | undefined> {
    if (!this.up.alive) return undefined;
    const { up, ledger } = this;
    const store = await this.store();
    const life = new Life({ up, store, ledger, acks: this.#acks }, operations);
    return (await life.lives(() => ensureBasics(store, this.holds))) ? life : undefined;
  }

  /** Under another clock a new certificate is not good yet, or no more, for the clock of this process. */
  async store(): Promise<ObjectStore> {
    const text = await readFile(this.up.kubeconfig, "utf8");
    const path = join(this.#acks, "..", "kubeconfig");
    await writeFile(path, text.replace(/certificate-authority-data: .*/, "insecure-skip-tls-verify: true"));
    return RestStore.fromKubeconfig(path);
  }
}

async function ensureBasics(store: ObjectStore, holdWriters: boolean): Promise<void> {
  const ensure = async <T extends KubeObject>(resource: Resource<T>, object: T): Promise<void> => {
    await store.create(resource, object).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  };
  await ensure(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
  await ensure(VolumeGroupClasses, GROUP_CLASS);
  const key = { name: "default" };
  if (((await store.get(Pools, key)).spec.holdWriters ?? false) !== holdWriters)
    await mutate(store, Pools, key, (pool) => {
      pool.spec.holdWriters = holdWriters;
    });
}

/** What the kernel has said last, where it may be read: which device failed, and whether a file system has given up. */
function kernelLog(): Promise<string> {
  return new Promise((resolve) =>
    execFile("dmesg", ["--ctime"], (_error, stdout) => resolve(stdout.slice(-4000))),
  );
}
