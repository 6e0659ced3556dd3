import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Events, mutate } from "@mooring/store";
import { covers, thorough } from "@mooring/store/testing";
import { type VolumeAttachment, VolumeAttachments } from "../../api/attachment.ts";
import { MOORING_API_VERSION } from "../../api/names.ts";
import { ShareManagers } from "../../api/share-manager.ts";
import { Snapshots } from "../../api/snapshot.ts";
import { Volumes } from "../../api/volume.ts";
import { shareTicket } from "../../tickets/share-ticket.ts";
import { addTicket, removeTickets, ticketStatus } from "../../tickets/tickets.ts";
import { createVolume, object, setStatus, withArbiter } from "./testing/run-arbiter.ts";

const csi = (id: string, nodeID: string) => ({ id, type: "csi-attacher" as const, nodeID });

describe("the arbiter on a store", () => {
  test("makes one attachment object per volume, and lets it go with the volume", () => {
    covers("LHA-006", "LHA-063");
    return withArbiter(async ({ store, until }) => {
      await until.attachment((a) => a?.spec.volume === "v-1");
      await store.delete(Volumes, { name: "v-1" });
      await until.attachment((a) => a === undefined);
    });
  });

  test("a ticket is placed, satisfied at its generation, and detached again", () => {
    covers("LHA-029", "LHA-034", "LHA-037", "LHA-038");
    return withArbiter(async ({ store, until }) => {
      const ticket = await addTicket(store, "v-1", csi("t", "a"), { now: new Date() });
      await until.volume((v) => v.spec.nodeID === "a");
      await until.attachment(
        (a) => a !== undefined && ticketStatus(a, "t")?.conditions[0]?.reason === "Attaching",
      );
      await setStatus(store, { state: "attached", currentNodeID: "a" });
      const attached = await until.attachment(
        (a) => a !== undefined && ticketStatus(a, "t")?.satisfied === true,
      );
      assert.equal(attached?.status?.attachmentTicketStatuses?.t?.generation, ticket.generation);

      assert.deepEqual(await removeTickets(store, "v-1", (t) => t.id === "t"), ["t"]);
      await until.volume((v) => v.spec.nodeID === "");
      await until.attachment((a) => Object.keys(a?.status?.attachmentTicketStatuses ?? {}).length === 0);
    });
  });

  test("an unchanged request writes nothing, a changed one always gets a higher generation", () => {
    covers("LHA-075");
    return withArbiter(async ({ store }) => {
      const first = await addTicket(store, "v-1", csi("t", "a"), { now: new Date() });
      const again = await addTicket(store, "v-1", csi("t", "a"), { now: new Date() });
      assert.deepEqual(again, first);
      const moved = await addTicket(store, "v-1", csi("t", "b"), { now: new Date() });
      assert.ok((moved.generation ?? 0) > (first.generation ?? 0));
      await removeTickets(store, "v-1", () => true);
      const back = await addTicket(store, "v-1", csi("t", "b"), { now: new Date() });
      assert.ok((back.generation ?? 0) > (moved.generation ?? 0));
    });
  });

  test("tickets written at the same time are all kept", () => {
    covers("LHA-009");
    return withArbiter(async ({ store }) => {
      const ids = Array.from({ length: 10 }, (_, index) => `t${index}`);
      await Promise.all(ids.map((id) => addTicket(store, "v-1", csi(id, "a"), { now: new Date() })));
      const attachment = await store.get(VolumeAttachments, { name: "v-1" });
      assert.deepEqual(Object.keys(attachment.spec.attachmentTickets ?? {}).sort(), ids);
      const generations = Object.values(attachment.spec.attachmentTickets ?? {}).map((t) => t.generation);
      assert.equal(new Set(generations).size, ids.length);
    });
  });

  test("a deleted attachment object goes when there is no ticket, and only then", () =>
    withArbiter(async ({ store, until }) => {
      await addTicket(store, "v-1", csi("t", "a"), { now: new Date() });
      const deleted = await store.delete(VolumeAttachments, { name: "v-1" });
      await until.volume((v) => v.spec.nodeID === "a");
      await removeTickets(store, "v-1", () => true);
      await until.attachment((a) => a !== undefined && a.metadata.uid !== deleted.metadata.uid);
    }));

  test("only an attachment object that is deleted without its volume is reported", thorough(), () =>
    withArbiter(async ({ store, until }) => {
      await createVolume(store, "v-2");
      await until.attachment((a) => a !== undefined, "v-2");
      await mutate(store, Volumes, { name: "v-1" }, (volume) => {
        volume.metadata.finalizers = ["storage.mooring.dev/test"];
      });
      await store.delete(Volumes, { name: "v-1" });
      for (const name of ["v-1", "v-2"]) await store.delete(VolumeAttachments, { name });
      await until.event("DeletionWaits");
      const { items } = await store.list(Events);
      const reported = items.filter(({ reason }) => reason === "DeletionWaits");
      assert.deepEqual(
        reported.map(({ involvedObject }) => involvedObject?.name),
        ["v-2"],
      );
    }),
  );

  test("a ticket dies with the snapshot that owns it, and an operator's at its expiry", () =>
    withArbiter(async ({ store, until }) => {
      const snapshot = await store.create(Snapshots, object("Snapshot", "s-1", { volume: "v-1", pool: "p" }));
      const owner = {
        apiVersion: MOORING_API_VERSION,
        kind: "Snapshot",
        name: "s-1",
        uid: snapshot.metadata.uid ?? "",
      };
      await addTicket(
        store,
        "v-1",
        { id: "s", type: "snapshot-controller", nodeID: "a", owner },
        { now: new Date() },
      );
      const expiresAt = new Date(Date.now() + 200).toISOString();
      await addTicket(
        store,
        "v-1",
        { id: "p", type: "longhorn-api", nodeID: "a", expiresAt },
        { now: new Date() },
      );
      const has = (id: string) => (a: VolumeAttachment | undefined) =>
        a?.spec.attachmentTickets?.[id] !== undefined;
      await until.attachment((a) => has("s")(a) && !has("p")(a));
      await store.delete(Snapshots, { name: "s-1" });
      await until.attachment((a) => !has("s")(a));
    }));

  test("a share manager's ticket that is torn out under its users is back before the device is closed", () => {
    covers("LHA-059");
    return withArbiter(async ({ store, until }) => {
      const served = await mutate(store, Volumes, { name: "v-1" }, (v) => {
        v.spec.accessMode = "rwx";
      });
      await store.create(ShareManagers, object("ShareManager", "v-1", { nodeID: "b", users: ["a"] }));
      await addTicket(store, "v-1", csi("t", "a"), { now: new Date() });
      const added = await addTicket(store, "v-1", shareTicket(served, "b"), { now: new Date() });
      await until.volume((v) => v.spec.nodeID === "b");
      await setStatus(store, { state: "attached", currentNodeID: "b" });
      const places: string[] = [];
      const seen = new AbortController();
      const watching = (async () => {
        for await (const { object: volume } of store.watch(Volumes, { signal: seen.signal }))
          places.push(volume.spec.nodeID ?? "");
      })();
      // As an operator does who edits the object: no service of ours is there to write it again.
      const tear = (attachment: VolumeAttachment): void => {
        delete attachment.spec.attachmentTickets?.[added.id];
      };
      await mutate(store, VolumeAttachments, { name: "v-1" }, tear);
      const back = await until.attachment((a) => a?.spec.attachmentTickets?.[added.id] !== undefined);
      const { type, nodeID, owner, generation = 0 } = back?.spec.attachmentTickets?.[added.id] ?? {};
      assert.deepEqual([type, nodeID, owner], [added.type, "b", added.owner]);
      assert.ok(generation > (added.generation ?? 0));
      await until.attachment((a) => a !== undefined && ticketStatus(a, added.id)?.satisfied === true);
      assert.ok(
        places.every((place) => place === "b"),
        places.join(),
      );
      // Whoever ends the share records it first: then the ticket stays away, and the volume leaves.
      await mutate(store, ShareManagers, { name: "v-1" }, (share) => {
        share.spec = { nodeID: "", users: [] };
      });
      await mutate(store, VolumeAttachments, { name: "v-1" }, tear);
      await until.volume((v) => v.spec.nodeID === "");
      seen.abort();
      await watching.catch(() => {});
    });
  });

  test("tickets of a deleted volume mean nothing to a new one of the same name", () =>
    withArbiter(async ({ store, until }) => {
      await addTicket(store, "v-1", csi("t", "a"), { now: new Date() });
      await until.volume((v) => v.spec.nodeID === "a");
      await store.delete(Volumes, { name: "v-1" });
      const next = await createVolume(store);
      const fresh = await until.attachment(
        (a) => a?.metadata.ownerReferences?.[0]?.uid === next.metadata.uid,
      );
      assert.deepEqual(fresh?.spec.attachmentTickets, {});
    }));
});
