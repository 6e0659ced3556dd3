import { readFile } from "node:fs/promises";
import {
  isAlreadyExists,
  isNotFound,
  mutate,
  type ObjectStore,
  type Resource,
  waitFor,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { type VolumeAttachment, VolumeAttachments } from "../../../api/attachment.ts";
import { JOB_UID_LABEL, MOORING_API_VERSION } from "../../../api/names.ts";
import { type NodeAgent, NodeAgents } from "../../../api/node-agent.ts";
import { Pools } from "../../../api/pool.ts";
import { RecurringJobs } from "../../../api/recurring-job.ts";
import { type ShareManager, ShareManagers } from "../../../api/share-manager.ts";
import { Snapshots } from "../../../api/snapshot.ts";
import { type Volume, Volumes } from "../../../api/volume.ts";
import { makeFilesystem } from "../../../host/filesystems.ts";
import type { Host } from "../../../host/host.ts";
import { shareLayout } from "../../../node/share/layout.ts";
import { NODE, POOL, snapshotObject, until, volumeObject } from "../../../testing/agent.ts";
import { MIB } from "../../../testing/scratch.ts";
import { addTicket, removeTickets } from "../../../tickets/tickets.ts";

export interface Stage {
  store: ObjectStore;
  host: Host;
  /** The pool has devices. */
  block: boolean;
  /** Of the agent. */
  stateDir: string;
}

/** What happens to the volumes of a crash test; every phase can be done again from its start. */
export function story(stage: Stage): (() => Promise<unknown>)[] {
  const { store, block } = stage;
  const volume = (name: string, test: (volume: Volume) => boolean) => until(store, Volumes, name, test);
  const inState = (name: string, state: string) => volume(name, (v) => v.status?.state === state);
  return [
    async () => {
      await store.create(Volumes, volumeObject("v-p-1")).catch(made);
      await inState("v-p-1", "detached");
    },
    // A snapshot of a volume that no workload uses.
    async () => {
      await store.create(Snapshots, snapshotObject("s-p-1", "v-p-1")).catch(made);
      await until(store, Snapshots, "s-p-1", (s) => s.status?.readyToUse === true);
    },
    () => untouched(stage, "v-p-1"),
    // A ticket without a number, as an operator writes it.
    async () => {
      const ticket = { id: "by-hand", type: "longhorn-api" as const, nodeID: NODE };
      await mutate(store, VolumeAttachments, { name: "v-p-1" }, ({ spec }) => {
        spec.attachmentTickets = { ...spec.attachmentTickets, [ticket.id]: ticket };
      });
      const isSatisfied = ({ status }: VolumeAttachment) =>
        status?.attachmentTicketStatuses?.[ticket.id]?.satisfied === true;
      await until(store, VolumeAttachments, "v-p-1", isSatisfied);
      await removeTickets(store, "v-p-1", ({ id }) => id === ticket.id);
    },
    () => untouched(stage, "v-p-1"),
    // A workload leaves while a job goes on: the device is hidden in place.
    async () => {
      const parameters = { disableFrontend: "any" };
      const job = { id: "job", type: "volume-eviction-controller" as const, nodeID: NODE, parameters };
      await addTicket(store, "v-p-1", job, { now: new Date() });
      await addTicket(store, "v-p-1", { id: "csi", type: "csi-attacher", nodeID: NODE }, { now: new Date() });
      await volume("v-p-1", (v) => v.status?.state === "attached" && v.status.frontendDisabled === false);
    },
    async () => {
      await removeTickets(store, "v-p-1", ({ id }) => id === "csi");
      await volume("v-p-1", (v) => v.status?.state === "attached" && v.status.frontendDisabled === true);
      await removeTickets(store, "v-p-1", () => true);
    },
    () => untouched(stage, "v-p-1"),
    // A copy of a volume that no workload uses.
    async () => {
      const source = { kind: "Volume" as const, name: "v-p-1" };
      await store.create(Volumes, volumeObject("v-p-2", { source })).catch(made);
      await volume("v-p-2", (v) => v.status?.size !== undefined);
    },
    () => untouched(stage, "v-p-1"),
    () => untouched(stage, "v-p-2"),
    () => gone(store, Volumes, "v-p-2"),
    ...restoring(stage),
    ...recurring(stage),
    ...(block ? served(stage) : []),
    () => gone(store, Snapshots, "s-p-1"),
    () => gone(store, Volumes, "v-p-1"),
    () => gone(store, Pools, POOL),
  ];
}

/** A file system that grows while no workload uses it, goes back to its snapshot, and grows again. */
function restoring(stage: Stage): (() => Promise<unknown>)[] {
  const { store, block } = stage;
  const restored = (snapshot: string, state: string) => async () => {
    await mutate(store, Volumes, { name: "v-p-1" }, (v) => {
      v.spec.restoreFrom = { snapshot };
    });
    await until(store, Volumes, "v-p-1", ({ status }) => {
      const { restore, expansion } = status ?? {};
      return restore?.snapshot === snapshot && restore.state === state && expansion === undefined;
    });
  };
  const growing = [
    () => format(stage, "v-p-1"),
    async () => {
      await store.create(Snapshots, snapshotObject("s-p-2", "v-p-1")).catch(made);
      await until(store, Snapshots, "s-p-2", (s) => s.status?.readyToUse === true);
    },
    async () => {
      await mutate(store, Volumes, { name: "v-p-1" }, (v) => {
        v.spec.size = 128 * MIB;
      });
      const grown = (v: Volume) => v.status?.size === 128 * MIB && v.status.expansion === undefined;
      await until(store, Volumes, "v-p-1", grown);
    },
    restored("s-p-2", "Restored"),
    // As the agent finds it when a file system fails in use.
    async () => {
      const faultedAt = "2026-01-01T00:00:00Z";
      const fault = { cause: "filesystem" as const, faultedAt, state: "Faulted" as const, message: "" };
      await mutate(
        store,
        Volumes,
        { name: "v-p-1" },
        {
          change: ({ status }) => {
            if (status === undefined || status.salvage !== undefined) return;
            status.robustness = "faulted";
            status.salvage = fault;
          },
          subresource: "status",
        },
      );
      const repaired = ({ status }: Volume) =>
        status?.robustness !== "faulted" && /Clean|Repaired/.test(status?.salvage?.state ?? "");
      await until(store, Volumes, "v-p-1", repaired);
    },
    () => gone(store, Snapshots, "s-p-2"),
  ];
  return [
    restored("s-none", "Failed"),
    restored("s-p-1", "Restored"),
    ...(block ? growing : []),
    () => untouched(stage, "v-p-1"),
  ];
}

/** More nodes, of which there are objects only: a server starts for the first, and lets in the second. */
const OTHERS = { "node-2": "198.51.100.2", "node-3": "198.51.100.3" };

/** A volume that many nodes use: grown, served to others while it is in use, and left by the last of them. */
function served({ store, stateDir }: Stage): (() => Promise<unknown>)[] {
  const { config } = shareLayout(stateDir, "v-p-3");
  const share = (test: (manager: ShareManager) => boolean) => until(store, ShareManagers, "v-p-3", test);
  return [
    async () => {
      await store
        .create(Volumes, volumeObject("v-p-3", { accessMode: "rwx", fsType: "xfs", size: 320 * MIB }))
        .catch(made);
      await until(store, Volumes, "v-p-3", (v) => v.status?.state === "detached");
    },
    async () => {
      await addTicket(store, "v-p-3", { id: "csi", type: "csi-attacher", nodeID: NODE }, { now: new Date() });
      await share(({ status }) => status?.state === "running");
      await until(
        store,
        VolumeAttachments,
        "v-p-3",
        (a) => a.status?.attachmentTicketStatuses?.csi?.satisfied === true,
      );
    },
    async () => {
      await mutate(store, Volumes, { name: "v-p-3" }, (v) => {
        v.spec.size = 384 * MIB;
      });
      await share(({ status }) => status?.size === 384 * MIB && status.state === "running");
    },
    ...Object.entries(OTHERS).map(([name, address]) => async () => {
      const agent = { apiVersion: MOORING_API_VERSION, kind: "NodeAgent", metadata: { name } };
      await store.create(NodeAgents, { ...agent, spec: {} }).catch(made);
      const reached = (found: NodeAgent) => {
        found.status = { state: "Ready", address };
      };
      await mutate(store, NodeAgents, { name }, { change: reached, subresource: "status" });
      const ticket = { id: `csi-${name}`, type: "csi-attacher" as const, nodeID: name };
      await addTicket(store, "v-p-3", ticket, { now: new Date() });
      await eventually("the server to be notified of it", async () =>
        (await readFile(config, "utf8").catch(() => "")).includes(address),
      );
    }),
    async () => {
      await removeTickets(store, "v-p-3", ({ nodeID }) => nodeID in OTHERS);
      for (const name of Object.keys(OTHERS)) await gone(store, NodeAgents, name);
    },
    async () => {
      await removeTickets(store, "v-p-3", ({ id }) => id === "csi");
      await share(({ status }) => status?.state === "stopped");
      await until(store, Volumes, "v-p-3", (v) => v.status?.state === "detached");
    },
    () => gone(store, Volumes, "v-p-3"),
    () =>
      waitFor(
        store,
        { resource: ShareManagers, key: { name: "v-p-3" } },
        (o) => o === undefined,
        AbortSignal.timeout(60_000),
      ),
  ];
}

/** A job that runs every second, removes its old snapshots, and is suspended. */
function recurring({ store }: Stage): (() => Promise<unknown>)[] {
  const spec = { cron: "* * * * * *", task: "snapshot" as const, retain: 1, groups: ["default"] };
  const job = { apiVersion: MOORING_API_VERSION, kind: "RecurringJob", metadata: { name: "often" }, spec };
  return [
    async () => {
      await store.create(RecurringJobs, job).catch(made);
      await until(store, RecurringJobs, "often", ({ status }) => (status?.runs ?? 0) >= 3);
    },
    async () => {
      const { status } = await mutate(store, RecurringJobs, { name: "often" }, (present) => {
        present.spec.suspend = true;
      });
      const more = (status?.skipped ?? 0) + 1;
      await until(store, RecurringJobs, "often", (present) => (present.status?.skipped ?? 0) >= more);
    },
    () => gone(store, RecurringJobs, "often"),
    async () => {
      const { items } = await store.list(Snapshots, { labelSelector: JOB_UID_LABEL });
      if (items.length === 0) throw new Error("the job's last snapshot went with it");
      for (const { metadata } of items) await gone(store, Snapshots, metadata.name);
    },
  ];
}

/** What a workload does with a new volume. */
async function format({ store, host }: Stage, name: string): Promise<void> {
  await addTicket(store, name, { id: "csi", type: "csi-attacher", nodeID: NODE }, { now: new Date() });
  const shown = (v: Volume) => v.status?.state === "attached" && v.status.frontendDisabled === false;
  const { status } = await until(store, Volumes, name, shown);
  const { device = "", formatted } = status ?? {};
  await makeFilesystem(host.exec, { device, type: "ext4", formatted });
  const note = (v: Volume) => {
    if (v.status !== undefined) v.status.formatted = "ext4";
  };
  await mutate(store, Volumes, { name }, { change: note, subresource: "status" });
  await removeTickets(store, name, ({ id }) => id === "csi");
  await until(store, Volumes, name, (v) => v.status?.state === "detached");
}

function made(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}

/** No ticket is left, and the volume is where it was. */
async function untouched({ store }: Stage, name: string): Promise<void> {
  const none = (a: { spec: { attachmentTickets?: object } }) =>
    Object.keys(a.spec.attachmentTickets ?? {}).length === 0;
  await until(store, VolumeAttachments, name, none);
  await until(store, Volumes, name, (v) => v.status?.state === "detached" && (v.spec.nodeID ?? "") === "");
}

async function gone(store: ObjectStore, resource: Resource, name: string): Promise<void> {
  await store.delete(resource, { name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  await waitFor(store, { resource, key: { name } }, (o) => o === undefined, AbortSignal.timeout(60_000));
}
