import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type ObjectStore,
  PersistentVolumeClaims,
  type Resource,
  VolumeAttributesClasses,
} from "@mooring/store";
import { nothingSleeps } from "@mooring/store/testing";
import { startHarness } from "../testing/harness.ts";
import { claim, DRIVER } from "../testing/objects.ts";

test("a claim's volume is planned once: its VolumeAttributesClass is asked of the server for the call, and not again", async (t) => {
  let asked = 0;
  const serve = async (store: ObjectStore): Promise<ObjectStore> =>
    new Proxy(store, {
      get(target, method) {
        const of = Reflect.get(target, method) as unknown;
        if (typeof of !== "function") return of;
        return (...args: unknown[]) => {
          if (method === "get" && args[0] === (VolumeAttributesClasses as Resource)) asked += 1;
          return of.apply(target, args);
        };
      },
    });
  const gold = {
    ...{ apiVersion: "storage.k8s.io/v1", kind: "VolumeAttributesClass", metadata: { name: "gold" } },
    ...{ driverName: DRIVER, parameters: { tier: "gold" } },
  };
  const h = await startHarness(t, {
    serve,
    driver: { can: ["CREATE_DELETE_VOLUME", "MODIFY_VOLUME"] },
    objects: [[VolumeAttributesClasses, gold]],
    sidecars: { controllers: ["provision"] },
  });
  await h.store.create(PersistentVolumeClaims, claim("one", { volumeAttributesClassName: "gold" }));
  const key = { name: "one", namespace: "default" };
  await h.until("it is bound", async () => {
    const { status } = await h.store.get(PersistentVolumeClaims, key);
    return status?.phase === "Bound";
  });
  await nothingSleeps();
  assert.equal(asked, 1);
});
