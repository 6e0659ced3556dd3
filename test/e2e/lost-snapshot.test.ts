import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Snapshots } from "@mooring/engine";
import {
  Events,
  type KubeObject,
  Namespaces,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  type VolumeSnapshot,
  VolumeSnapshots,
} from "@mooring/store";
import { eventually, eventuallyObject } from "@mooring/store/testing";
import { claim, snapshot } from "../support/manifests.ts";
import { Up } from "../support/up.ts";

const NAMESPACE = "lost";
const key = (name: string) => ({ namespace: NAMESPACE, name });

test("a snapshot whose image has gone can be deleted, also when a claim was to be made from it", async (t) => {
  const up = await Up.create();
  t.after(() => up.disposeWhole());
  await up.start();
  const store = await up.store();
  t.after(() => store.close());
  await store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
  await store.create(PersistentVolumeClaims, claim(NAMESPACE, "data", { size: "32Mi" }));
  const isBound = (object?: PersistentVolumeClaim) => object?.status?.phase === "Bound";
  await eventuallyObject(store, { resource: PersistentVolumeClaims, key: key("data") }, isBound);
  await store.create(VolumeSnapshots, snapshot(NAMESPACE, "monday", "data"));
  const isReady = (object?: VolumeSnapshot) => object?.status?.readyToUse === true;
  await eventuallyObject(store, { resource: VolumeSnapshots, key: key("monday") }, isReady);

  // As after a restore of the state from before its deletion.
  const [image] = (await store.list(Snapshots)).items;
  const path = join(up.stateDir, "pools/default/mnt/images", `${image?.metadata.name}.img`);
  await rm(path);
  await store.create(
    PersistentVolumeClaims,
    claim(NAMESPACE, "restored", { size: "32Mi", snapshot: "monday" }),
  );
  const messages = async () =>
    (await store.list(Events, { namespace: NAMESPACE })).items
      .filter(({ involvedObject }) => involvedObject.name === "restored")
      .map(({ message }) => message);
  await eventually(
    "the claim to say why",
    async () => (await messages()).some((each) => /is gone/.test(each ?? "")),
    {
      lastSeen: messages,
    },
  );

  await store.delete(PersistentVolumeClaims, key("restored"));
  await store.delete(VolumeSnapshots, key("monday"));
  await store.delete(PersistentVolumeClaims, key("data"));
  for (const resource of [PersistentVolumeClaims, VolumeSnapshots, Snapshots])
    await eventually(
      `no ${resource.plural} to be left`,
      async () => (await store.list<KubeObject>(resource)).items.length === 0,
    );
});
