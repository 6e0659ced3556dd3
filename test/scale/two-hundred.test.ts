import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Namespaces, PersistentVolumeClaims, Pods } from "@mooring/store";
import { eventually, howMany } from "@mooring/store/testing";
import { claim, pod } from "../support/manifests.ts";
import { machineRemains } from "../support/remains.ts";
import { LEFTOVER_KINDS } from "../support/scenario.ts";
import { Up } from "../support/up.ts";

const COUNT = howMany({ everyday: 12, full: 200 });
const namespace = "many";
const up = await Up.create({ poolSize: "24Gi" });
after(() => up.dispose());

test(`${COUNT} claims at once are bound, attached to one pod each, and cleaned up`, async () => {
  await up.start();
  const store = await up.store();
  const names = Array.from({ length: COUNT }, (_, index) => `n${index}`);
  await store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await Promise.all(names.map((name) => store.create(PersistentVolumeClaims, claim(namespace, name))));
  const script = "echo $HOSTNAME > /data/me; exec sleep 100000";
  await Promise.all(
    names.map((name) => store.create(Pods, pod(namespace, name, script, { mounts: { "/data": name } }))),
  );
  await eventually(
    "all pods to run",
    async () => {
      const { items } = await store.list(Pods, { namespace });
      const failed = items.find((item) => item.status?.phase === "Failed");
      assert.equal(failed?.status?.message, undefined);
      return items.filter((item) => item.status?.phase === "Running").length === COUNT;
    },
    { withinMs: 600_000, everyMs: 250 },
  );
  const claims = (await store.list(PersistentVolumeClaims, { namespace })).items;
  assert.equal(claims.filter((item) => item.status?.phase === "Bound").length, COUNT);

  await store.delete(Namespaces, { name: namespace });
  for (const resource of [Namespaces, ...LEFTOVER_KINDS]) {
    await eventually(
      `no ${resource.plural} to be left`,
      async () =>
        (await store.list(resource)).items.every(
          (item) => item.metadata.name !== namespace && resource === Namespaces,
        ),
      { withinMs: 600_000, everyMs: 250 },
    );
  }
  assert.equal(await up.end("SIGTERM"), 0);
  assert.deepEqual(await machineRemains(up.stateDir), []);
});
