import type { TestContext } from "node:test";
import {
  Events,
  type KubeObject,
  PersistentVolumeClaims,
  type Resource,
  type VolumeGroupSnapshot,
  VolumeGroupSnapshotClasses,
  type VolumeGroupSnapshotContent,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { type Harness, type HarnessOptions, startHarness } from "./harness.ts";
import { claim, groupClass, groupSnapshot } from "./objects.ts";

export const NS = "default";

/** Without what the server gives. */
export function fresh<T extends KubeObject>(object: T): T {
  const { uid: _uid, resourceVersion: _version, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** A namespace with claims and group snapshots, and what tests ask about them. */
export interface GroupWorld {
  h: Harness;
  /** Makes claims with the label `app: db`, and waits until they are bound. */
  claims(...names: string[]): Promise<void>;
  create(name: string, spec?: object): Promise<VolumeGroupSnapshot>;
  group(name?: string): Promise<VolumeGroupSnapshot | undefined>;
  content(): Promise<VolumeGroupSnapshotContent>;
  ready(name?: string): Promise<VolumeGroupSnapshot>;
  /** Waits for an error on the group snapshot. */
  error(pattern: RegExp, name?: string): Promise<VolumeGroupSnapshot>;
  remove(name?: string): Promise<void>;
  gone(name?: string): Promise<void>;
  members(): Promise<VolumeSnapshot[]>;
  memberContents(): Promise<VolumeSnapshotContent[]>;
  /** Waits for an event about an object of a kind. */
  reported(kind: string, reason: string, message?: RegExp): Promise<string>;
  /** What the driver was asked. */
  requests<T>(method: string): T[];
  /** The volume ids of claims. */
  handles(...names: string[]): Promise<string[]>;
}

export async function groupWorld(t: TestContext, options: HarnessOptions = {}): Promise<GroupWorld> {
  const classes: [Resource, KubeObject][] = [[VolumeGroupSnapshotClasses, groupClass()]];
  const h = await startHarness(t, {
    objects: classes,
    ...options,
    driver: { groups: true, ...options.driver },
  });
  return worldOf(h);
}

function worldOf(h: Harness): GroupWorld {
  const group = (name = "group") => h.find(VolumeGroupSnapshots, name, NS);
  const everything = async () => [
    (await h.store.list(VolumeGroupSnapshots)).items,
    (await h.store.list(VolumeGroupSnapshotContents)).items,
    (await h.store.list(VolumeSnapshots)).items,
    (await h.store.list(VolumeSnapshotContents)).items,
  ];
  const waitFor = (what: string, name: string, test: (group: VolumeGroupSnapshot) => boolean) =>
    h.until(
      what,
      async () => {
        const found = await group(name);
        return found !== undefined && test(found) && found;
      },
      everything,
    );
  return {
    h,
    group,
    claims: async (...names) => {
      for (const name of names) await h.store.create(PersistentVolumeClaims, labelled(name));
      for (const name of names) await bound(h, name);
    },
    create: (name, spec) =>
      h.store.create(
        VolumeGroupSnapshots,
        fresh(
          groupSnapshot(name, {
            source: { selector: { matchLabels: { app: "db" } } },
            volumeGroupSnapshotClassName: "groups",
            ...spec,
          }),
        ),
      ),
    content: async () => {
      const [only] = (await h.store.list(VolumeGroupSnapshotContents)).items;
      if (only === undefined) throw new Error("there is no content");
      return only;
    },
    ready: (name = "group") => waitFor(`${name} is ready`, name, ({ status }) => status?.readyToUse === true),
    error: (pattern, name = "group") =>
      waitFor(`${name} has error ${pattern}`, name, ({ status }) =>
        pattern.test(status?.error?.message ?? ""),
      ),
    remove: async (name = "group") =>
      void (await h.store.delete(VolumeGroupSnapshots, { namespace: NS, name })),
    gone: async (name = "group") =>
      void (await h.until(`${name} is gone`, async () => (await group(name)) === undefined, everything)),
    members: async () => (await h.store.list(VolumeSnapshots)).items,
    memberContents: async () => (await h.store.list(VolumeSnapshotContents)).items,
    reported: (kind, reason, message = /./) =>
      h.until(
        `an event ${reason} about a ${kind}`,
        async () =>
          (await h.store.list(Events)).items.find(
            (event) =>
              event.involvedObject.kind === kind &&
              event.reason === reason &&
              message.test(event.message ?? ""),
          )?.involvedObject.name,
        async () => (await h.store.list(Events)).items,
      ),
    requests: <T>(method: string) =>
      h.driver.calls.filter((call) => call.method === method).map(({ request }) => request as T),
    handles: async (...names) =>
      Promise.all(
        names.map(async (name) => {
          const found = await h.find(PersistentVolumeClaims, name, NS);
          const volume = [...h.driver.backend.volumes.values()].find(
            (each) => each.name === `pvc-${found?.metadata.uid}`,
          );
          return volume?.id ?? "";
        }),
      ),
  };
}

export function labelled(name: string, labels: Record<string, string> = { app: "db" }, spec: object = {}) {
  const plain = fresh(claim(name, spec));
  return { ...plain, metadata: { name, namespace: NS, labels } };
}

function bound(h: Harness, name: string) {
  return h.until(
    `${name} is bound`,
    async () => (await h.find(PersistentVolumeClaims, name, NS))?.status?.phase === "Bound",
  );
}
