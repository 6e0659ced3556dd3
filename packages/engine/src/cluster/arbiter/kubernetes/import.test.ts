import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Events, KubeVolumeAttachments, mutate, type ObjectStore } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { type VolumeAttachment, VolumeAttachments } from "../../../api/attachment.ts";
import { ARBITER_FINALIZER, IMPORT_ANNOTATION } from "../../../api/names.ts";
import { type Volume, Volumes } from "../../../api/volume.ts";
import { newAttachment } from "../../../tickets/attachment-object.ts";
import { csiTicketId } from "../../../tickets/kubernetes-claim.ts";
import { ticketIdFor } from "../../../tickets/ticket-id.ts";
import { addTicket, removeTickets, ticketStatus } from "../../../tickets/tickets.ts";
import {
  type ArbiterWorld,
  createKubernetesAttachment,
  createVolume,
  removeKubernetesAttachment,
  withArbiter,
  withStore,
} from "../testing/run-arbiter.ts";

const CSI = csiTicketId("v-1", "a");
const satisfied = (id: string) => (a: VolumeAttachment | undefined) =>
  a !== undefined && ticketStatus(a, id)?.satisfied === true;

/** Runs the body and fails when the volume was taken from its node at any moment of it. */
async function neverDetached(store: ObjectStore, body: () => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const seen: string[] = [];
  const { resourceVersion } = await store.list(Volumes);
  const watching = (async () => {
    for await (const { object } of store.watch(Volumes, { resourceVersion, signal: stop.signal })) {
      seen.push((object as Volume).spec.nodeID ?? "");
    }
  })().catch(() => {});
  await body();
  stop.abort();
  await watching;
  assert.ok(!seen.includes(""), `the volume was on: ${seen.map((node) => node || "no node").join(", ")}`);
}

/** The store of a process that is killed after so many writes. */
function dyingStore(store: ObjectStore, writes: number): { store: ObjectStore; dead: Promise<void> } {
  let left = writes;
  let die = () => {};
  const dead = new Promise<void>((resolve) => {
    die = resolve;
  });
  const never = () => {
    die();
    return Promise.reject(new Error("this process is dead"));
  };
  const gate =
    <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> => {
      left -= 1;
      return left < 0 ? never() : write(...args);
    };
  const dying: ObjectStore = {
    get: (resource, key, signal) => store.get(resource, key, signal),
    list: (resource, options) => store.list(resource, options),
    watch: (resource, options) => store.watch(resource, options),
    create: gate((...args) => store.create(...args)) as ObjectStore["create"],
    update: gate((...args) => store.update(...args)) as ObjectStore["update"],
    updateStatus: gate((...args) => store.updateStatus(...args)) as ObjectStore["updateStatus"],
    patch: gate((...args) => store.patch(...args)) as ObjectStore["patch"],
    delete: gate((...args) => store.delete(...args)) as ObjectStore["delete"],
  };
  return { store: dying, dead };
}

describe("import: what is attached stays attached", () => {
  test("a volume in use by Kubernetes gets its CSI ticket back before anything is decided", () => {
    covers("LHA-064", "LHA-063");
    return withStore(async ({ store, until, start }) => {
      await createVolume(store, "v-1", "a", "csi");
      await createKubernetesAttachment(store, "v-1", "a");
      await neverDetached(store, async () => {
        await start();
        await until.attachment(satisfied(CSI));
      });
      const attachment = await store.get(VolumeAttachments, { name: "v-1" });
      assert.deepEqual(Object.keys(attachment.spec.attachmentTickets ?? {}), [CSI]);
      assert.equal(attachment.spec.attachmentTickets?.[CSI]?.owner?.kind, "VolumeAttachment");
      assert.equal(attachment.metadata.annotations?.[IMPORT_ANNOTATION], undefined);
    }, true);
  });

  test("one attached by an operator gets an operator's ticket, with its front end as it is", () => {
    covers("LHA-064");
    return withStore(async ({ store, until, start }) => {
      const volume = await createVolume(store, "v-1", "a", "ann");
      await store.update(Volumes, { ...volume, spec: { ...volume.spec, disableFrontend: true } });
      await neverDetached(store, async () => {
        await start();
        await until.attachment(satisfied("longhorn-ui"));
      });
      const ticket = (await store.get(VolumeAttachments, { name: "v-1" })).spec.attachmentTickets?.[
        "longhorn-ui"
      ];
      assert.deepEqual([ticket?.type, ticket?.nodeID], ["longhorn-api", "a"]);
      assert.deepEqual(ticket?.parameters, { disableFrontend: "true", lastAttachedBy: "ann" });
    }, true);
  });

  test("a served volume gets its server's ticket, and no operator's, wherever its users are", () =>
    withStore(async ({ store, until, start }) => {
      const volume = await createVolume(store, "v-1", "a");
      await store.update(Volumes, { ...volume, spec: { ...volume.spec, accessMode: "rwx" } });
      await createKubernetesAttachment(store, "v-1", "b");
      const server = ticketIdFor("share-manager-controller", "v-1");
      await neverDetached(store, async () => {
        await start();
        await until.attachment(satisfied(server));
      });
      const { attachmentTickets = {} } = (await store.get(VolumeAttachments, { name: "v-1" })).spec;
      assert.deepEqual(Object.keys(attachmentTickets).sort(), [csiTicketId("v-1", "b"), server].sort());
      assert.equal(attachmentTickets[server]?.owner?.kind, "Volume");
    }, true));

  test("what a job has open without a front end is not given to an operator, who would keep it for ever", () =>
    withStore(async ({ store, until, start }) => {
      const volume = await createVolume(store, "v-1", "a");
      await store.update(Volumes, { ...volume, spec: { ...volume.spec, disableFrontend: true } });
      await start();
      await until.volume((v) => v.spec.nodeID === "");
      const { spec } = await store.get(VolumeAttachments, { name: "v-1" });
      assert.deepEqual(Object.keys(spec.attachmentTickets ?? {}), []);
    }, true));

  test("an older object that never had a ticket is filled in the same way", () =>
    withStore(async ({ store, until, start }) => {
      const volume = await createVolume(store, "v-1", "a", "csi");
      const { annotations: _, ...metadata } = newAttachment(volume).metadata;
      await store.create(VolumeAttachments, { ...newAttachment(volume), metadata });
      await createKubernetesAttachment(store, "v-1", "a");
      await neverDetached(store, async () => {
        await start();
        await until.attachment(satisfied(CSI));
      });
    }, true));

  test("what is on its way to a node when the object is lost arrives there", () =>
    withStore(async ({ store, until, start }) => {
      await createVolume(store, "v-1", "a", "csi");
      await createKubernetesAttachment(store, "v-1", "a", { attached: false });
      await neverDetached(store, async () => {
        await start();
        await until.attachment(satisfied(CSI));
      });
    }, true));

  test("without Kubernetes a CSI volume keeps its ticket as well, and unpublishing ends it", () =>
    withStore(async ({ store, until, start }) => {
      await createVolume(store, "v-1", "a", "csi");
      await neverDetached(store, async () => {
        await start();
        await until.attachment(satisfied(CSI));
      });
      await removeTickets(store, "v-1", ({ type }) => type === "csi-attacher");
      await until.volume((v) => v.spec.nodeID === "");
    }));

  test("a process that dies after any write of the import leaves nothing that the next one detaches", async () => {
    for (let writes = 0; writes < 4; writes += 1) {
      await withStore(async ({ store, until, start }) => {
        await createVolume(store, "v-1", "a", "csi");
        await createKubernetesAttachment(store, "v-1", "a");
        await neverDetached(store, async () => {
          const dying = dyingStore(store, writes);
          const stop = await start(dying.store);
          await Promise.race([dying.dead, until.attachment(satisfied(CSI))]);
          await stop();
          await start();
          await until.attachment(satisfied(CSI));
        });
      }, true);
    }
  });

  test("a second ticket that comes first does not make the import forget the first", () =>
    withStore(async ({ store, until, start }) => {
      await createVolume(store, "v-1", "a", "csi");
      await createKubernetesAttachment(store, "v-1", "a");
      await addTicket(
        store,
        "v-1",
        { id: "s", type: "snapshot-controller", nodeID: "b" },
        { now: new Date() },
      );
      await neverDetached(store, async () => {
        await start();
        await until.attachment(satisfied(CSI));
      });
    }, true));
});

describe("healing: nobody loses a device by an edit", () => {
  /** A volume that a Pod uses on node a. */
  const inUse = async ({ store, until }: ArbiterWorld) => {
    await createKubernetesAttachment(store, "v-1", "a", { attached: false });
    await addTicket(store, "v-1", { id: CSI, type: "csi-attacher", nodeID: "a" }, { now: new Date() });
    await until.volume((v) => v.spec.nodeID === "a");
    await mutate(
      store,
      Volumes,
      { name: "v-1" },
      {
        change: (v) => ({ ...v, status: { state: "attached" as const, currentNodeID: "a" } }),
        subresource: "status",
      },
    );
    await until.attachment(satisfied(CSI));
    const attached = await store.get(KubeVolumeAttachments, { name: CSI });
    await store.updateStatus(KubeVolumeAttachments, { ...attached, status: { attached: true } });
  };

  test("an operator who deletes the ticket of a running Pod gets it back, with the reason", () =>
    withArbiter(async (world) => {
      const { store, until } = world;
      await inUse(world);
      await neverDetached(store, async () => {
        await removeTickets(store, "v-1", () => true);
        await until.attachment(satisfied(CSI));
      });
      assert.match(
        (await until.event("TicketRestored")).message ?? "",
        /was lost while the volume is in use/,
      );
    }, true));

  test("an object whose finalizer was stripped is made again with its tickets", () =>
    withArbiter(async (world) => {
      const { store, until } = world;
      await inUse(world);
      await neverDetached(store, async () => {
        const { metadata } = await store.delete(VolumeAttachments, { name: "v-1" });
        const stripped = (a: VolumeAttachment) => ({ ...a, metadata: { ...a.metadata, finalizers: [] } });
        await mutate(store, VolumeAttachments, { name: "v-1" }, stripped);
        await until.attachment((a) => a?.metadata.uid !== metadata.uid && satisfied(CSI)(a));
      });
      const again = await store.get(VolumeAttachments, { name: "v-1" });
      assert.deepEqual(again.metadata.finalizers, [ARBITER_FINALIZER]);
    }, true));

  test("a deleted object waits for its tickets, and reports it", () =>
    withArbiter(async (world) => {
      const { store, until } = world;
      await inUse(world);
      await neverDetached(store, async () => {
        await store.delete(VolumeAttachments, { name: "v-1" });
        assert.match((await until.event("DeletionWaits")).message ?? "", /as long as the volume/);
      });
    }, true));

  test("finalizer, label, owner and a status written by hand come back as they were", () =>
    withArbiter(async (world) => {
      const { store, until } = world;
      await inUse(world);
      const before = await store.get(VolumeAttachments, { name: "v-1" });
      await mutate(store, VolumeAttachments, { name: "v-1" }, (a) => {
        Object.assign(a.metadata, { finalizers: [], labels: {}, ownerReferences: [] });
      });
      await mutate(
        store,
        VolumeAttachments,
        { name: "v-1" },
        {
          change: (a) => ({
            ...a,
            status: { attachmentTicketStatuses: {}, generationCounter: -4, holder: "me" },
          }),
          subresource: "status",
        },
      );
      const same =
        (field: "finalizers" | "labels" | "ownerReferences") => (a: VolumeAttachment | undefined) =>
          JSON.stringify(a?.metadata[field]) === JSON.stringify(before.metadata[field]);
      await until.attachment((a) => same("finalizers")(a) && same("labels")(a) && same("ownerReferences")(a));
      await until.attachment((a) => satisfied(CSI)(a) && a?.status?.holder === "csi-attacher");
    }, true));
});

describe("no ticket outlives its Kubernetes attachment", () => {
  test("10689, 6287, 7313: the ticket ends with the attachment, also when nobody unpublishes", () =>
    withArbiter(async ({ store, until }) => {
      await createKubernetesAttachment(store, "v-1", "a");
      await until.attachment((a) => a?.spec.attachmentTickets?.[CSI] !== undefined);
      await removeKubernetesAttachment(store, CSI);
      await until.attachment((a) => Object.keys(a?.spec.attachmentTickets ?? {}).length === 0);
    }, true));

  test("a ticket written without it gets it as its owner, whatever its name, and follows one made again", () =>
    withArbiter(async ({ store, until }) => {
      await addTicket(store, "v-1", { id: CSI, type: "csi-attacher", nodeID: "a" }, { now: new Date() });
      await createKubernetesAttachment(store, "v-1", "a", { name: "by-hand" });
      const owned = await until.attachment(
        (a) => a?.spec.attachmentTickets?.[CSI]?.owner?.name === "by-hand",
      );
      await removeKubernetesAttachment(store, "by-hand");
      await until.attachment((a) => a?.spec.attachmentTickets?.[CSI] === undefined);
      await createKubernetesAttachment(store, "v-1", "a", { name: "by-hand" });
      const again = await until.attachment((a) => a?.spec.attachmentTickets?.[CSI] !== undefined);
      const uid = (a: VolumeAttachment | undefined) => a?.spec.attachmentTickets?.[CSI]?.owner?.uid;
      assert.notEqual(uid(again), uid(owned));
    }, true));

  test("11201: one that is being deleted for long does not bring its ticket back", () =>
    withArbiter(async ({ store, until }) => {
      await createKubernetesAttachment(store, "v-1", "a");
      await until.attachment((a) => a?.spec.attachmentTickets?.[CSI] !== undefined);
      await store.delete(KubeVolumeAttachments, { name: CSI });
      await removeTickets(store, "v-1", () => true);
      await until.volume((v) => v.spec.nodeID === "");
      const { items } = await store.list(Events);
      assert.ok(items.filter(({ reason }) => reason === "TicketRestored").length <= 1);
    }, true));
});
