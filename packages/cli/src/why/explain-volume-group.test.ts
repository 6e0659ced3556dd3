import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type VolumeGroup,
  type VolumeGroupContent,
  VolumeGroupContents,
  VolumeGroups,
} from "@mooring/sidecars";
import { Events, PersistentVolumeClaims, Pods, type Resource, StorageClasses } from "@mooring/store";
import { explainVolumeGroup } from "./explain-volume-group.ts";
import { result } from "./finding.ts";
import { contextOf } from "./kinds.ts";
import { renderFinding } from "./render.ts";
import { storeOf } from "./testing.ts";

const KINDS = [Events, VolumeGroupContents, VolumeGroups] as Resource[];

/** A group that is wanted and not there, for the reason that its conditions have. */
function failing(message: string): VolumeGroup & Required<Pick<VolumeGroup, "status">> {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const is = (type: string, status: "True" | "False") => ({
    ...{ type, status, reason: "CallFailed", message, lastTransitionTime },
  });
  return {
    ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "VolumeGroup" },
    metadata: { name: "vault", namespace: "shop" },
    spec: { source: { claimNames: [] } },
    status: {
      ready: false,
      memberCount: 0,
      conditions: [is("Bound", "False"), is("Ready", "False"), is("Degraded", "True")],
    },
  };
}

/** A group that is there, without a claim that somebody else has. */
function without(message: string): VolumeGroup {
  const member = { claimName: "data", state: "LeftOut", reason: "InAnotherGroup", message } as const;
  const { status: _failing, ...group } = failing("");
  const isTrue = (type: string) =>
    ({ type, status: "True", reason: type, message: "", lastTransitionTime: "" }) as const;
  const conditions = ["Bound", "Ready", "MembersSynced"].map(isTrue);
  return { ...group, status: { ready: true, memberCount: 0, members: [member], conditions } };
}

test("a claim of another group is taken out there: by the command with that group's name, or by its own operator", async (t) => {
  const store = await storeOf(t, KINDS);
  const why = async () => renderFinding(await explainVolumeGroup(contextOf(store), "shop", "vault"));
  const made = await store.create(
    VolumeGroups,
    without("the claim is in VolumeGroup old; it stays there until that lets it go"),
  );
  assert.match(
    await why(),
    /next: take it out of the group that has it: mooring group remove old data -n shop/,
  );
  const { status } = without("another operator has the claim in a group (finalizer x/y)");
  if (status !== undefined) await store.updateStatus(VolumeGroups, { ...made, status });
  assert.match(
    await why(),
    /next: take it out of that group by the operator that keeps it, which is not Mooring/,
  );
});

test("a claim that only waits to be bound is shown, and nothing is wrong with its group", async (t) => {
  const store = await storeOf(t, [...KINDS, PersistentVolumeClaims, StorageClasses, Pods]);
  const group = without("");
  const member = { claimName: "data", state: "Waiting", reason: "NotBound", message: "not bound" } as const;
  if (group.status !== undefined) group.status.members = [member];
  await store.create(VolumeGroups, group);
  await store.create(StorageClasses, {
    ...{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name: "late" } },
    ...{ provisioner: "p", volumeBindingMode: "WaitForFirstConsumer" },
  });
  const metadata = { name: "data", namespace: "shop" };
  await store.create(PersistentVolumeClaims, {
    ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata },
    spec: { storageClassName: "late" },
  });
  const root = await explainVolumeGroup(contextOf(store), "shop", "vault");
  assert.match(
    renderFinding(root),
    /^ok +VolumeGroup shop\/vault: ready[\s\S]*waiting +Persistent.*shop\/data/,
  );
  assert.equal(result(root), "ok");
});

test("a group whose content is being deleted is not well", async (t) => {
  const store = await storeOf(t, KINDS);
  const group = without("the claim is in VolumeGroup old; it stays there until that lets it go");
  if (group.status !== undefined)
    group.status = { ...group.status, members: [], boundVolumeGroupContentName: "behind" };
  await store.create(VolumeGroups, group);
  await store.create(VolumeGroupContents, {
    ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "VolumeGroupContent" },
    metadata: { name: "behind", finalizers: ["storage.mooring.dev/group"] },
    spec: { driver: "d", deletionPolicy: "Delete", source: {} },
  } as VolumeGroupContent);
  const why = async () => renderFinding(await explainVolumeGroup(contextOf(store), "shop", "vault"));
  assert.match(await why(), /^ok/);
  await store.delete(VolumeGroupContents, { name: "behind" });
  assert.match(await why(), /^waiting +VolumeGroup shop\/vault: VolumeGroupContent behind is being deleted/);
  assert.match(await why(), /next: it goes when the group does: kubectl delete vg -n shop vault/);
});

test("a group that has no secret to call with gets the command that makes it; one that is refused, the driver's words", async (t) => {
  const store = await storeOf(t, KINDS);
  const made = await store.create(VolumeGroups, failing("secret shop/groups-vault does not exist"));
  const why = async () => renderFinding(await explainVolumeGroup(contextOf(store), "shop", "vault"));
  const text = await why();
  assert.match(text, /FAILED {2,}VolumeGroup shop\/vault: secret shop\/groups-vault does not exist/);
  assert.match(text, /next: create it .*kubectl create secret generic groups-vault -n shop/);
  assert.doesNotMatch(text, /driver/);
  await store.updateStatus(VolumeGroups, { ...made, status: failing("no such tier").status });
  assert.match(await why(), /no such tier[\s\S]*next: put right what the driver reports/);
});
