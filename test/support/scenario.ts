import assert from "node:assert/strict";
import { Snapshots, VolumeAttachments, Volumes } from "@mooring/engine";
import {
  KubeVolumeAttachments,
  Namespaces,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Pod,
  Pods,
  type Resource,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { claim, pod, snapshot } from "./manifests.ts";
import { ensure, gone, type Persist, reaches } from "./persist.ts";
import { ACKS, ALL_ACKNOWLEDGED, acknowledged, auditing, DATA, INTACT, writing } from "./records.ts";

/** Kinds of which nothing may be left when all claims and snapshots are gone. */
export const LEFTOVER_KINDS: readonly Resource[] = [
  PersistentVolumes,
  KubeVolumeAttachments,
  VolumeSnapshotContents,
  Volumes,
  VolumeAttachments,
  Snapshots,
];

/** Enough that a snapshot has records before it and after it. */
const RECORDS = 3;

/**
 * The main job, in a namespace of its own: a writer on a claim, a snapshot of it while it writes, a restore, and
 * a check of the data at both ends. Every step may be run again. `acks` is an empty folder outside of all volumes.
 */
export class Scenario {
  readonly #persist: Persist;
  readonly #namespace: string;
  readonly #acks: string;

  constructor(persist: Persist, namespace: string, acks: string) {
    this.#persist = persist;
    this.#namespace = namespace;
    this.#acks = acks;
  }

  /** Provision, attach, stage, publish, write. Resolves when records have been acknowledged. */
  async write(): Promise<void> {
    const namespace = this.#namespace;
    await ensure(this.#persist, Namespaces, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace },
    });
    await ensure(this.#persist, PersistentVolumeClaims, claim(namespace, "live"));
    await this.#run("writer", writing(namespace), "live", "Always");
    await reaches(
      this.#persist,
      Pods,
      { namespace, name: "writer" },
      (item) => item.status?.phase === "Running",
    );
    await this.#acknowledges(RECORDS);
  }

  /** Snapshot, restore to a larger claim, compare: every record that was acknowledged before the snapshot is there. */
  async restore(): Promise<void> {
    const namespace = this.#namespace;
    const before = await acknowledged(this.#acks);
    await ensure(this.#persist, VolumeSnapshots, snapshot(namespace, "snap", "live"));
    const snap = { namespace, name: "snap" };
    await reaches(this.#persist, VolumeSnapshots, snap, (item) => item.status?.readyToUse === true);
    await this.#acknowledges(before + RECORDS);
    const restored = claim(namespace, "restored", { size: "96Mi", snapshot: "snap" });
    await ensure(this.#persist, PersistentVolumeClaims, restored);
    await this.#audit("reader", "restored", String(before));
  }

  /** Ends the writer; then its volume, attached once more, has every record that was ever acknowledged. */
  async audit(): Promise<void> {
    await gone(this.#persist, Pods, { namespace: this.#namespace, name: "writer" });
    await this.#audit("auditor", "live", ALL_ACKNOWLEDGED);
  }

  /** Deletes everything and waits until nothing is left of it. */
  async destroy(): Promise<void> {
    const namespace = this.#namespace;
    for (const name of ["reader", "auditor", "writer"]) await gone(this.#persist, Pods, { namespace, name });
    await gone(this.#persist, VolumeSnapshots, { namespace, name: "snap" });
    for (const name of ["restored", "live"])
      await gone(this.#persist, PersistentVolumeClaims, { namespace, name });
    await gone(this.#persist, Namespaces, { name: namespace });
    for (const resource of LEFTOVER_KINDS) {
      await eventually(`no ${resource.plural} to be left`, () =>
        this.#persist(async (store) => (await store.list(resource)).items.length === 0),
      );
    }
  }

  /** From nothing to nothing. */
  async run(): Promise<void> {
    await this.write();
    await this.restore();
    await this.audit();
    await this.destroy();
  }

  async #run(
    name: string,
    script: string,
    claimName: string,
    restartPolicy: "Always" | "OnFailure",
  ): Promise<void> {
    const object = pod(this.#namespace, name, script, { mounts: { [DATA]: claimName }, restartPolicy });
    await ensure(this.#persist, Pods, withFolder(object, this.#acks));
  }

  async #audit(name: string, claimName: string, acknowledgedText: string): Promise<void> {
    const namespace = this.#namespace;
    await this.#run(name, auditing(namespace, acknowledgedText), claimName, "OnFailure");
    const ended = (item: Pod) => item.status?.phase === "Succeeded";
    const { status } = await reaches(this.#persist, Pods, { namespace, name }, ended);
    const result = status?.containerStatuses?.[0]?.state?.terminated?.message?.trim();
    assert.equal(result, INTACT, `${name} of claim ${namespace}/${claimName}`);
  }

  /** The caller that waits here for a dead server brings it back: only a living one has a writer that goes on. */
  async #acknowledges(wanted: number): Promise<void> {
    await eventually(`${wanted} acknowledged records`, () =>
      this.#persist(async (store) => {
        await store.get(Pods, { namespace: this.#namespace, name: "writer" });
        return (await acknowledged(this.#acks)) >= wanted;
      }),
    );
  }
}

/** The pod with a folder of the machine at {@link ACKS}. */
function withFolder({ spec, ...rest }: Pod, folder: string): Pod {
  const [container, ...others] = spec?.containers ?? [];
  if (container === undefined) throw new Error("a pod without a container");
  const volumeMounts = [...(container.volumeMounts ?? []), { name: "acks", mountPath: ACKS }];
  return {
    ...rest,
    spec: {
      ...spec,
      containers: [{ ...container, volumeMounts }, ...others],
      volumes: [...(spec?.volumes ?? []), { name: "acks", hostPath: { path: folder, type: "Directory" } }],
    },
  };
}
