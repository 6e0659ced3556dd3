import assert from "node:assert/strict";
import { test } from "node:test";
import { claim } from "../support/manifests.ts";
import { world } from "../support/world.ts";

const KIND = { apiVersion: "storage.mooring.dev/v1alpha1" };

test("a volume group of our own volumes: claims join it, kubectl waits for that, and it ends without them", async () => {
  const { kubectl } = await world({ pool: "xfs" });
  const policy = { driver: "csi.mooring.dev", deletionPolicy: "Delete" };
  const source = { selector: { matchLabels: { app: "pair" } } };
  for (const object of [
    { ...KIND, kind: "VolumeGroupClass", metadata: { name: "together" }, ...policy },
    {
      ...KIND,
      kind: "VolumeGroup",
      metadata: { name: "db", namespace: "default" },
      spec: { volumeGroupClassName: "together", source },
    },
    ...["a", "b"].map((name) => {
      const made = claim("default", name);
      return { ...made, metadata: { ...made.metadata, labels: { app: "pair" } } };
    }),
  ])
    await kubectl.apply(JSON.stringify(object));
  await kubectl.run("wait", "--for=jsonpath={.status.memberCount}=2", "vg/db", "--timeout=120s");
  await kubectl.run("wait", "--for=condition=MembersSynced", "vg/db", "--timeout=60s");
  const members = await kubectl.run("get", "vg", "db", "-o", "jsonpath={.status.members[*].state}");
  assert.equal(members, "Joined Joined");
  await kubectl.run("delete", "vg", "db", "--timeout=60s");
  assert.equal((await kubectl.run("get", "volumesets,vgcontent", "-o", "name")).trim(), "");
  const phases = await kubectl.run("get", "pvc", "-o", "jsonpath={.items[*].status.phase}");
  assert.equal(phases, "Bound Bound", "the claims stay");
});
