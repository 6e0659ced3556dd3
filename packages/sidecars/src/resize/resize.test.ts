import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  defined,
  Events,
  KubeVolumeAttachments,
  type ObjectStore,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
} from "@mooring/store";
import { PRE_RESIZE_CAPACITY } from "../common/names.ts";
import { type Harness, type HarnessOptions, startHarness } from "../testing/harness.ts";
import { claim, DRIVER } from "../testing/objects.ts";

const KEY = { name: "data", namespace: "default" };
const read = (h: Harness) => h.store.get(PersistentVolumeClaims, KEY);
const volumeOf = async (h: Harness) =>
  h.store.get(PersistentVolumes, { name: (await read(h)).spec?.volumeName ?? "" });

async function start(t: Parameters<typeof startHarness>[0], options: HarnessOptions = {}): Promise<Harness> {
  const h = await startHarness(t, options);
  const { metadata, ...rest } = claim("data");
  await h.store.create(PersistentVolumeClaims, {
    ...rest,
    metadata: { name: metadata.name, namespace: "default" },
  });
  await h.until("it is bound", async () => (await read(h)).status?.phase === "Bound");
  return h;
}
const ask = (h: Harness, storage: string) =>
  h.store.patch(PersistentVolumeClaims, KEY, {
    type: "merge",
    body: { spec: { resources: { requests: { storage } } } },
  });
const claimIs = (
  h: Harness,
  what: string,
  probe: (status: NonNullable<PersistentVolumeClaim["status"]>) => boolean,
) =>
  h.until(
    what,
    async () => {
      const found = await read(h);
      return probe(found.status ?? {}) && found;
    },
    () => read(h),
  );
const condition = (claimStatus: PersistentVolumeClaim["status"]) =>
  claimStatus?.conditions?.map(({ type }) => type).join();
const reasons = async (h: Harness) => (await h.store.list(Events)).items.map(({ reason }) => reason);

test("a driver that expands alone: new capacity, no state left", async (t) => {
  const h = await start(t);
  await ask(h, "3Gi");
  const { status } = await claimIs(h, "it is larger", ({ capacity }) => capacity?.storage === "3Gi");
  assert.equal((await volumeOf(h)).spec?.capacity?.storage, "3Gi");
  assert.equal([...h.driver.backend.volumes.values()][0]?.bytes, 3n * 1024n ** 3n);
  assert.deepEqual(status?.conditions, []);
  assert.deepEqual(status?.allocatedResourceStatuses, {});
  assert.equal(h.driver.called("ControllerExpandVolume"), 1);
  await h.until("events", async () => {
    const seen = await reasons(h);
    return seen.includes("Resizing") && seen.includes("VolumeResizeSuccessful");
  });
});

test("the node has its part: the claim waits for it, and the volume remembers its size from before", async (t) => {
  const h = await start(t, { driver: { nodeExpansion: true } });
  await ask(h, "2Gi");
  const { status } = await claimIs(
    h,
    "it waits",
    ({ allocatedResourceStatuses }) => allocatedResourceStatuses?.storage === "NodeResizePending",
  );
  assert.equal(condition(status), "FileSystemResizePending");
  assert.equal(status?.capacity?.storage, "1Gi");
  assert.equal(status?.allocatedResources?.storage, "2Gi");
  const volume = await volumeOf(h);
  assert.equal(volume.spec?.capacity?.storage, "2Gi");
  assert.equal(volume.metadata.annotations?.[PRE_RESIZE_CAPACITY], "1Gi");
  const body = { status: { capacity: { storage: "2Gi" }, conditions: [], allocatedResourceStatuses: null } };
  await h.store.patch(PersistentVolumeClaims, KEY, { type: "merge", body }, { subresource: "status" });
  await h.until(
    "it is forgotten",
    async () => (await volumeOf(h)).metadata.annotations?.[PRE_RESIZE_CAPACITY] === undefined,
  );
});

test("an infeasible size is reported, and a smaller one recovers from it at once", async (t) => {
  const h = await start(t, { sidecars: { retry: { startMs: 5, maxMs: 20, infeasibleMs: 600_000 } } });
  h.driver.faults.add({ method: "ControllerExpandVolume", code: Code.OUT_OF_RANGE, message: "too large" });
  await ask(h, "900Gi");
  const failed = await claimIs(
    h,
    "it is infeasible",
    ({ allocatedResourceStatuses }) => allocatedResourceStatuses?.storage === "ControllerResizeInfeasible",
  );
  assert.equal(condition(failed.status), "ControllerResizeError");
  assert.match(failed.status?.conditions?.[0]?.message ?? "", /too large/);
  await ask(h, "2Gi");
  await claimIs(
    h,
    "it is larger",
    ({ capacity, conditions }) => capacity?.storage === "2Gi" && conditions?.length === 0,
  );
});

test("a refused size is forgotten when no more is asked for than there is", async (t) => {
  const h = await start(t, { sidecars: { retry: { startMs: 5, maxMs: 20, infeasibleMs: 600_000 } } });
  h.driver.faults.add({ method: "ControllerExpandVolume", code: Code.FAILED_PRECONDITION, times: 1000 });
  await ask(h, "900Gi");
  await claimIs(h, "it is refused", (status) => condition(status) === "ControllerResizeError");
  await ask(h, "1Gi");
  await claimIs(
    h,
    "nothing is left of it",
    ({ allocatedResources, allocatedResourceStatuses, conditions }) =>
      allocatedResources?.storage === "1Gi" &&
      allocatedResourceStatuses?.storage === undefined &&
      conditions?.length === 0,
  );
});

test("an uncertain expansion is repeated with its own size, also when the wish changes and the process restarts", async (t) => {
  const h = await start(t);
  h.driver.faults.add({
    method: "ControllerExpandVolume",
    code: Code.DEADLINE_EXCEEDED,
    effect: true,
    times: 3,
  });
  await ask(h, "5Gi");
  await h.until("it was called", () => h.driver.called("ControllerExpandVolume") > 0);
  await ask(h, "2Gi");
  await h.restart();
  await claimIs(h, "it is larger", ({ capacity }) => capacity?.storage === "5Gi");
  const sizes = h.driver.calls
    .filter(({ method }) => method === "ControllerExpandVolume")
    .map(
      ({ request }) => (request as { capacityRange: { requiredBytes: bigint } }).capacityRange.requiredBytes,
    );
  assert.deepEqual([...new Set(sizes)], [5n * 1024n ** 3n]);
});

test("an offline-only driver is asked when the volume is attached nowhere", async (t) => {
  const h = await start(t, {
    driver: { expansion: "offline" },
    sidecars: { retry: { startMs: 5, maxMs: 600_000, infeasibleMs: 1 } },
  });
  const { metadata } = await volumeOf(h);
  const attachment = {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name: "a" },
    spec: { attacher: `${DRIVER}.not`, nodeName: "n1", source: { persistentVolumeName: metadata.name } },
  };
  await h.store.create(KubeVolumeAttachments, attachment);
  await h.until(
    "the attachment is known",
    async () => (await h.find(KubeVolumeAttachments, "a")) !== undefined,
  );
  await ask(h, "2Gi");
  await h.until("it reports why", async () => (await reasons(h)).includes("VolumeResizeFailed"));
  assert.equal(h.driver.called("ControllerExpandVolume"), 0);
  await h.store.delete(KubeVolumeAttachments, { name: "a" });
  await claimIs(h, "it is larger", ({ capacity }) => capacity?.storage === "2Gi");
});

/** What each status of the claim that is written says, with it, of the kubelet's part. */
async function saidOfNodes(
  t: Parameters<typeof startHarness>[0],
  driver: HarnessOptions["driver"],
): Promise<unknown[]> {
  const said: unknown[] = [];
  const serve = async (store: ObjectStore): Promise<ObjectStore> =>
    new Proxy(store, {
      get(target, method) {
        const of = Reflect.get(target, method) as unknown;
        if (typeof of !== "function") return of;
        return (...args: Parameters<ObjectStore["patch"]>) => {
          const [resource, , patch] = method === "patch" ? args : [];
          const { metadata, status } = (patch?.body ?? {}) as {
            metadata?: { annotations?: Record<string, unknown> };
            status?: object;
          };
          if (resource === (PersistentVolumeClaims as Resource) && status !== undefined)
            said.push(metadata?.annotations?.["volume.kubernetes.io/node-expansion-not-required"]);
          return of.apply(target, args);
        };
      },
    });
  const h = await start(t, { serve, ...defined({ driver }) });
  await ask(h, "2Gi");
  await claimIs(h, "its part is done", ({ capacity, allocatedResourceStatuses: parts }) =>
    driver === undefined ? capacity?.storage === "2Gi" : parts?.storage === "NodeResizePending",
  );
  return said;
}

test("a kubelet hears with the size that it has no part in it: it would expand volumes of many nodes on each of them", async (t) => {
  assert.deepEqual(await saidOfNodes(t, undefined), [null, "true"]);
});

test("a kubelet that has a part in a later expansion hears that", async (t) => {
  assert.deepEqual(await saidOfNodes(t, { nodeExpansion: true }), [null, null]);
});

test("conditions and annotations of others survive an expansion", async (t) => {
  const h = await start(t);
  const theirs = { type: "Theirs", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };
  const body = { status: { conditions: [theirs] } };
  await h.store.patch(PersistentVolumeClaims, KEY, { type: "merge", body }, { subresource: "status" });
  await ask(h, "2Gi");
  const { status } = await claimIs(h, "it is larger", ({ capacity }) => capacity?.storage === "2Gi");
  assert.deepEqual(status?.conditions, [theirs]);
});
