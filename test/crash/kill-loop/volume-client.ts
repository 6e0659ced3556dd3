import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  type ObjectKey,
  PersistentVolumeClaims,
  type Pod,
  Pods,
  type Resource,
  VolumeSnapshots,
} from "@mooring/store";
import type { Random } from "@mooring/store/testing";
import { claim, snapshot } from "../../support/manifests.ts";
import type { Ledger } from "./ledger.ts";
import { type Client, type Life, NAMESPACE } from "./life.ts";
import { ACKS, acknowledged, DATA, inspect, recordsCommand, resultsOf } from "./records.ts";
import { VOLUME_ACTS } from "./volume-acts.ts";

const SMALLEST = 32;
const LARGEST = 64;

const KINDS = {
  claim: PersistentVolumeClaims,
  pod: Pods,
  snapshot: VolumeSnapshots,
  restored: PersistentVolumeClaims,
  auditor: Pods,
} as const satisfies Record<string, Resource>;
type Part = keyof typeof KINDS;
const PARTS = Object.keys(KINDS) as Part[];

/** A process of a pod, and that it is the same one as it was. */
interface Container {
  id: string | undefined;
  restarts: number | undefined;
}

/** One user with one volume at a time: claims it, writes, grows, copies and restores it, and deletes it. */
export class VolumeClient implements Client {
  readonly #ledger: Ledger;
  readonly #acks: string;
  readonly #index: number;
  readonly #holds: boolean;
  /** Names are never used twice. */
  readonly #turns: Record<Part, number> = { claim: 0, pod: 0, snapshot: 0, restored: 0, auditor: 0 };
  /** MiB that the claim asks for. */
  #size = SMALLEST;
  /** What the newest snapshot is of, and how many records it has to have. */
  #copied = { owner: "", records: 0 };
  #container: Container | undefined;
  /** Restored volumes that were found whole. */
  audits = 0;

  /** `holds`: writers wait when the pool is full, so that no write of theirs may fail. */
  constructor(of: { ledger: Ledger; acks: string; index: number; holds: boolean }) {
    this.#ledger = of.ledger;
    this.#acks = of.acks;
    this.#index = of.index;
    this.#holds = of.holds;
  }

  async act(life: Life, random: Random): Promise<void> {
    await random.weighted(VOLUME_ACTS.filter(({ may }) => may(this))).run(this, life);
  }

  has(part: Part): boolean {
    return this.#ledger.state(KINDS[part], this.key(part)) === "present";
  }

  key(part: Part): ObjectKey {
    return { namespace: NAMESPACE, name: `${part}-${this.#index}-${this.#turns[part]}` };
  }

  /** Whether the object is one of those that it uses now. */
  uses({ name }: ObjectKey): boolean {
    return PARTS.some((part) => this.key(part).name === name);
  }

  get canGrow(): boolean {
    return this.has("claim") && this.#size < LARGEST;
  }

  async createClaim({ store }: Life): Promise<void> {
    const { name } = this.#next("claim");
    this.#size = SMALLEST;
    await mkdir(this.#folder(name), { recursive: true });
    await this.#ledger.create(store, KINDS.claim, claim(NAMESPACE, name, { size: `${this.#size}Mi` }));
  }

  async createPod({ store }: Life): Promise<void> {
    const { name } = this.#next("pod");
    const owner = this.key("claim").name;
    this.#container = undefined;
    const command = recordsCommand(name, owner, "acks");
    await this.#ledger.create(store, KINDS.pod, this.#pod(name, owner, owner, command));
  }

  async waitForRecords(life: Life): Promise<void> {
    const folder = this.#folder(this.key("claim").name);
    const goal = (await acknowledged(folder)) + 3;
    const { name } = this.key("pod");
    await life.until(`${name} to write`, async () => {
      this.#check(life, await resultsOf(folder, name));
      return (await acknowledged(folder)) >= goal;
    });
    if (life.isOver) return;
    const container = containerOf(await life.store.get(Pods, this.key("pod")));
    // Each container begins with a result. The one that writes may not be reported yet, but still the one before it.
    const begun = (await resultsOf(folder, name)).length;
    const isReported = (container.restarts ?? -1) >= begun - 1;
    if (container.id !== undefined && isReported) this.#container = container;
  }

  async createSnapshot({ store }: Life): Promise<void> {
    const { name } = this.#next("snapshot");
    const owner = this.key("claim").name;
    this.#copied = { owner, records: await acknowledged(this.#folder(owner)) };
    await this.#ledger.create(store, KINDS.snapshot, snapshot(NAMESPACE, name, owner));
  }

  async createRestored({ store }: Life): Promise<void> {
    const { name } = this.#next("restored");
    const options = { size: `${LARGEST}Mi`, snapshot: this.key("snapshot").name };
    await this.#ledger.create(store, KINDS.restored, claim(NAMESPACE, name, options));
  }

  async createAuditor({ store }: Life): Promise<void> {
    const { name } = this.#next("auditor");
    const { owner, records } = this.#copied;
    const command = recordsCommand(name, owner, records);
    const mounted = this.key("restored").name;
    await this.#ledger.create(store, KINDS.auditor, this.#pod(name, mounted, owner, command));
  }

  /** Until the restored volume has been read; then its pod and its claim go. */
  async waitForAudit(life: Life): Promise<void> {
    const { name } = this.key("auditor");
    const folder = this.#folder(this.#copied.owner);
    await life.until(`${name} to read a restored volume`, async () => {
      const results = await resultsOf(folder, name);
      this.#check(life, results);
      return results.length > 0;
    });
    if (life.isOver || life.isFull) return;
    this.audits += 1;
    await this.delete(life, "auditor");
    await this.delete(life, "restored");
  }

  /** Claims that are not bound yet may not grow. */
  async grow({ store }: Life): Promise<void> {
    const { status } = await store.get(KINDS.claim, this.key("claim"));
    if (status?.phase !== "Bound") return;
    this.#size += 16;
    const spec = { resources: { requests: { storage: `${this.#size}Mi` } } };
    await this.#ledger.patch(store, KINDS.claim, this.key("claim"), { spec });
  }

  async annotate({ store }: Life): Promise<void> {
    await this.#ledger.patch(store, KINDS.claim, this.key("claim"));
  }

  async delete({ store }: Life, part: Part): Promise<void> {
    await this.#ledger.delete(store, KINDS[part], this.key(part));
  }

  async deleteAll(life: Life): Promise<void> {
    for (const part of PARTS.toReversed()) if (this.has(part)) await this.delete(life, part);
  }

  /** What a kill must not have changed: the records that were acknowledged, and the process that writes them. */
  async inspect({ up, store }: Life): Promise<string[]> {
    if (!this.has("pod")) return [];
    const { name: owner } = this.key("claim");
    const pod = await store.get(Pods, this.key("pod"));
    const found = this.#compare(pod);
    const { spec } = await store.get(PersistentVolumeClaims, this.key("claim"));
    const volume = `volumes/kubernetes.io~csi/${spec?.volumeName}/mount/records`;
    const file = join(up.stateDir, "kubelet/pods", pod.metadata.uid ?? "", volume);
    const least = await acknowledged(this.#folder(owner));
    // Not published yet.
    const wrong = await inspect(file, owner, least).catch(({ code }: NodeJS.ErrnoException) =>
      code === "ENOENT" && this.#container === undefined ? undefined : `cannot be read: ${code}`,
    );
    return wrong === undefined ? found : [...found, `${owner}: ${wrong}`];
  }

  /** The event that stops it has a reason. */
  forgetContainer(): void {
    this.#container = undefined;
  }

  #compare(pod: Pod): string[] {
    const { id, restarts } = containerOf(pod);
    const was = this.#container;
    if (was === undefined || (was.id === id && was.restarts === restarts)) return [];
    return [`${pod.metadata.name}: container ${id} (${restarts}) was ${was.id} (${was.restarts})`];
  }

  /** A full pool fails writes, unless it holds its writers, and never what was acknowledged. */
  #check({ isFull }: Life, results: readonly string[]): void {
    const mayFail = isFull && !this.#holds;
    const bad = results.find(
      (each) => each !== "intact" && !(mayFail && /^(open|read|write|fsync): /.test(each)),
    );
    if (bad !== undefined) throw new Error(`${this.key("claim").name}: ${bad}`);
  }

  #next(part: Part): ObjectKey {
    this.#turns[part] += 1;
    return this.key(part);
  }

  #folder(owner: string): string {
    return join(this.#acks, owner);
  }

  #pod(name: string, claimName: string, owner: string, command: string[]): Pod {
    const mounts = [
      { name: "data", mountPath: DATA },
      { name: "acks", mountPath: ACKS },
    ];
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: NAMESPACE },
      spec: {
        restartPolicy: name.startsWith("auditor") ? "OnFailure" : "Always",
        terminationGracePeriodSeconds: 2,
        containers: [{ name: "main", image: "host", command, volumeMounts: mounts }],
        volumes: [
          { name: "data", persistentVolumeClaim: { claimName } },
          { name: "acks", hostPath: { path: this.#folder(owner), type: "Directory" } },
        ],
      },
    };
  }
}

function containerOf({ status }: Pod): Container {
  const [main] = status?.containerStatuses ?? [];
  return { id: main?.containerID, restarts: main?.restartCount };
}
