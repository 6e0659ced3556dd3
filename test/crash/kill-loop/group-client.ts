import { VolumeGroups } from "@mooring/sidecars";
import {
  type ObjectKey,
  PersistentVolumeClaims,
  type VolumeGroupSnapshot,
  VolumeGroupSnapshots,
} from "@mooring/store";
import type { Random } from "@mooring/store/testing";
import { claim } from "../../support/manifests.ts";
import type { Ledger } from "./ledger.ts";
import { type Client, type Life, NAMESPACE } from "./life.ts";

const CLASS = "together";
const MEMBERS = ["a", "b"];
type Kind = typeof VolumeGroups | typeof VolumeGroupSnapshots | typeof PersistentVolumeClaims;

/** Two claims that belong together: a volume group of them, and group snapshots. */
export class GroupClient implements Client {
  readonly #ledger: Ledger;
  /** Names are never used twice: what is deleted takes a while to go. */
  readonly #turns: Record<string, number> = { claims: 1, copy: 1, group: 1 };

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  async act(life: Life, random: Random): Promise<void> {
    await random.one(this.#acts(life).filter(({ may }) => may)).run();
  }

  /** Deletes all of it, the group before its members. */
  async deleteAll({ store }: Life): Promise<void> {
    for (const [resource, name] of [
      [VolumeGroupSnapshots, "copy"],
      [VolumeGroups, "group"],
      ...MEMBERS.map((member) => [PersistentVolumeClaims, member] as const),
    ] as const)
      if (this.#has(resource, name)) await this.#ledger.delete(store, resource, this.#key(name));
  }

  #acts(life: Life): { may: boolean; run(): Promise<void> }[] {
    const missing = MEMBERS.filter((member) => !this.#has(PersistentVolumeClaims, member));
    const hasGroup = this.#has(VolumeGroups, "group");
    const hasCopy = this.#has(VolumeGroupSnapshots, "copy");
    const [next] = missing;
    if (next !== undefined && !hasGroup && !hasCopy)
      return [{ may: true, run: () => this.#claim(life, next) }];
    const members = MEMBERS.filter((member) => !missing.includes(member));
    return [
      { may: missing.length === 0 && !hasGroup, run: () => this.#group(life) },
      { may: hasGroup, run: () => this.#delete(life, VolumeGroups, "group") },
      { may: missing.length === 0 && !hasCopy, run: () => this.#copy(life) },
      { may: hasCopy, run: () => this.#waitForCopy(life) },
      { may: hasCopy, run: () => this.#delete(life, VolumeGroupSnapshots, "copy") },
      { may: members.length > 0 && !hasGroup && !hasCopy, run: () => this.#end(life, members) },
      { may: true, run: async () => void (await life.store.list(VolumeGroups)) },
    ];
  }

  async #delete({ store }: Life, resource: Kind, name: "copy" | "group"): Promise<void> {
    await this.#ledger.delete(store, resource, this.#key(name));
    this.#turns[name] = this.#turn(name) + 1;
  }

  async #end({ store }: Life, members: readonly string[]): Promise<void> {
    for (const member of members) await this.#ledger.delete(store, PersistentVolumeClaims, this.#key(member));
    this.#turns["claims"] = this.#turn("claims") + 1;
  }

  async #claim({ store }: Life, member: string): Promise<void> {
    const object = claim(NAMESPACE, this.#key(member).name, { size: "32Mi" });
    const labels = { together: String(this.#turn("claims")) };
    await this.#ledger.create(store, PersistentVolumeClaims, {
      ...object,
      metadata: { ...object.metadata, labels },
    });
  }

  async #group({ store }: Life): Promise<void> {
    await this.#ledger.create(store, VolumeGroups, {
      apiVersion: "storage.mooring.dev/v1alpha1",
      kind: "VolumeGroup",
      metadata: this.#key("group"),
      spec: { volumeGroupClassName: CLASS, source: { selector: this.#selector } },
    });
  }

  async #copy({ store }: Life): Promise<void> {
    const object: VolumeGroupSnapshot = {
      apiVersion: "groupsnapshot.storage.k8s.io/v1",
      kind: "VolumeGroupSnapshot",
      metadata: this.#key("copy"),
      spec: { source: { selector: this.#selector } },
    };
    await this.#ledger.create(store, VolumeGroupSnapshots, object);
  }

  async #waitForCopy(life: Life): Promise<void> {
    const key = this.#key("copy");
    await life.until(`group snapshot ${key.name}`, async () => {
      const { status } = await life.store.get(VolumeGroupSnapshots, key);
      return status?.readyToUse === true;
    });
  }

  get #selector() {
    return { matchLabels: { together: String(this.#turn("claims")) } };
  }

  #has(resource: Kind, name: string): boolean {
    return this.#ledger.state(resource, this.#key(name)) === "present";
  }

  #key(name: string): ObjectKey {
    return { namespace: NAMESPACE, name: `${name}-${this.#turn(name)}` };
  }

  #turn(name: string): number {
    return this.#turns[name] ?? this.#turns["claims"] ?? 0;
  }
}

/** The class of the groups. */
export const GROUP_CLASS = {
  apiVersion: "storage.mooring.dev/v1alpha1",
  kind: "VolumeGroupClass",
  metadata: { name: CLASS },
  driver: "csi.mooring.dev",
  deletionPolicy: "Delete",
} as const;
