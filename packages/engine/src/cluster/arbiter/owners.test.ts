import { describe, test } from "node:test";
import type { KubeObject } from "@mooring/store";
import { defined } from "@mooring/store";
import type { AttacherType, VolumeAttachment } from "../../api/attachment.ts";
import { MOORING_API_VERSION } from "../../api/names.ts";
import { type Snapshot, Snapshots } from "../../api/snapshot.ts";
import { ATTACHER_RULES } from "../../tickets/attacher-types.ts";
import { ownerKinds } from "../../tickets/owners.ts";
import { addTicket, removeTickets } from "../../tickets/tickets.ts";
import { withArbiter } from "./testing/run-arbiter.ts";

const apiVersion = MOORING_API_VERSION;
const spec = { volume: "v-1", pool: "p" };
const snapshot: Snapshot = { apiVersion, kind: "Snapshot", metadata: { name: "s-1" }, spec };
const has = (id: string) => (a: VolumeAttachment | undefined) =>
  a?.spec.attachmentTickets?.[id] !== undefined;

/** Every kind that may own a ticket: whoever adds one gets its proof here. */
describe("a ticket ends with the object that owns it", () => {
  for (const [key, resource] of Object.entries(ownerKinds(true))) {
    const [kind = ""] = key.split("/").slice(-1);
    const apiVersion = key.slice(0, -kind.length - 1);
    const ownerOf = (name: string, { metadata }: KubeObject) => ({
      ...{ apiVersion, kind, name, uid: metadata.uid ?? "" },
      ...defined({ namespace: metadata.namespace }),
    });
    const blank = (name: string): KubeObject => ({
      apiVersion,
      kind,
      metadata: { name, ...(resource.namespaced ? { namespace: "default" } : {}) },
      // As much of a spec as the watches of these kinds read.
      ...{ spec: { source: {}, attacher: "other.example.com", nodeName: "x", volume: "v-0" } },
    });

    test(`${key}: deleted, or made again under its name`, () =>
      withArbiter(async ({ store, until }) => {
        const owner = await store.create(resource, blank("owner-1"));
        const ticket = {
          id: "t",
          type: "backup-controller" as const,
          nodeID: "a",
          owner: ownerOf("owner-1", owner),
        };
        await addTicket(store, "v-1", ticket, { now: new Date() });
        await until.volume((v) => v.spec.nodeID === "a");
        const at = { name: "owner-1", ...(resource.namespaced ? { namespace: "default" } : {}) };
        await store.delete(resource, at);
        await until.attachment((a) => !has("t")(a));
        await until.volume((v) => v.spec.nodeID === "");

        await store.create(resource, blank("owner-1"));
        await addTicket(store, "v-1", ticket, { now: new Date() });
        await until.attachment((a) => !has("t")(a));
      }, true));
  }

  test("6688: a ticket of every type ends with its object", () =>
    withArbiter(async ({ store, until }) => {
      const types = Object.keys(ATTACHER_RULES) as AttacherType[];
      const object = await store.create(Snapshots, snapshot);
      const owner = { apiVersion, kind: "Snapshot", name: "s-1", uid: object.metadata.uid ?? "" };
      for (const type of types)
        await addTicket(store, "v-1", { id: type, type, nodeID: "a", owner }, { now: new Date() });
      await until.attachment(
        (a) => Object.keys(a?.status?.attachmentTicketStatuses ?? {}).length === types.length,
      );
      await store.delete(Snapshots, { name: "s-1" });
      await until.attachment((a) => Object.keys(a?.spec.attachmentTickets ?? {}).length === 0);
      await until.volume((v) => v.spec.nodeID === "");
    }));

  test("an operator's ticket needs no owner, and one of an unknown kind stays", () =>
    withArbiter(async ({ store, until }) => {
      await addTicket(store, "v-1", { id: "p", type: "longhorn-api", nodeID: "a" }, { now: new Date() });
      const owner = { apiVersion: "x.example.com/v1", kind: "Thing", name: "t" };
      await addTicket(
        store,
        "v-1",
        { id: "x", type: "backup-controller", nodeID: "a", owner },
        { now: new Date() },
      );
      await until.attachment((a) => a?.status?.satisfied === 0 && a.status.waiting === 2);
      await removeTickets(store, "v-1", ({ id }) => id === "p");
      await until.attachment((a) => has("x")(a) && !has("p")(a) && a?.status?.waiting === 1);
    }, true));

  test("without Kubernetes nobody can report that an object of it is gone", () =>
    withArbiter(async ({ store, until }) => {
      const owner = { apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment", name: "gone" };
      const lost = { apiVersion: MOORING_API_VERSION, kind: "Snapshot", name: "gone" };
      await addTicket(
        store,
        "v-1",
        { id: "k", type: "csi-attacher", nodeID: "a", owner },
        { now: new Date() },
      );
      await addTicket(
        store,
        "v-1",
        { id: "s", type: "backup-controller", nodeID: "a", owner: lost },
        { now: new Date() },
      );
      await until.attachment((a) => has("k")(a) && !has("s")(a));
    }));
});
