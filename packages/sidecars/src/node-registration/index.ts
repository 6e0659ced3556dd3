import { isDeepStrictEqual } from "node:util";
import { type CSIDriver, CSIDrivers, type CSINode, CSINodes, delay, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { csiDriverFor, type DeclaredCsiDriver } from "../csi-driver/object.ts";
import { objectKey, patchMetadata } from "../kube/patch.ts";
import {
  type CsiNodeEntry,
  decideRegistration,
  type NodeInfo,
  type RegistrationStep,
  type RegistrationView,
} from "./decide.ts";

/** What a registration has where the driver itself reports nothing. */
export interface RegistrationOptions {
  /** What the CSIDriver object gets where it does not exist yet; the rest follows from the capabilities. */
  csiDriver: DeclaredCsiDriver | ((driver: string) => DeclaredCsiDriver);
  /** Whether a CSIDriver object that does not exist is made; default true. Else it comes with the driver's manifests. */
  createsCsiDriver: boolean;
  /** Milliseconds before a CSIDriver that an administrator has deleted is put back; default 10,000. */
  replaceMs: number;
  /** Milliseconds between two calls for the node's limits (NodeGetInfo); default 10,000. */
  askMs: number;
}

const failpoints = stepFailpoints<RegistrationStep>("sidecars/node-registration", {
  "create-csi-driver": true,
  "create-csi-node": true,
  "update-csi-node": true,
  "update-node": true,
  report: "throws",
});

/** Keeps the node known as one of the driver's: CSIDriver, CSINode, the node's annotation and labels. */
export async function runNodeRegistration(
  context: SidecarContext,
  nodeName: string,
  given: Partial<RegistrationOptions>,
  signal: AbortSignal,
): Promise<void> {
  const { cluster, driver } = context;
  let info: NodeInfo | undefined;
  const known = async (): Promise<NodeInfo> => {
    info ??= await nodeInfo(context, signal);
    return info;
  };
  const { createsCsiDriver = true, csiDriver: overrides = {}, replaceMs = 10_000, askMs = 10_000 } = given;
  const described = typeof overrides === "function" ? overrides(driver.info.name) : overrides;
  const last = new LastSeen(context.now, replaceMs);
  const controller = sidecarController(context, {
    name: "node-registration",
    failpoints,
    sources: [],
    // There may be no object yet whose change could begin the work.
    keys: () => ["node"],
    watched: [cluster.nodes, cluster.csiNodes, cluster.csiDrivers],
    async read(_, from, fresh): Promise<RegistrationView> {
      const { csiDrivers, csiNodes, nodes } = from.cluster;
      const { name } = driver.info;
      const csiDriver = fresh ? await csiDrivers.refresh(name) : csiDrivers.get(name);
      return {
        driver: name,
        nodeName,
        info: await known(),
        hasDriver: createsCsiDriver && !driver.info.controllerElsewhere,
        node: fresh ? await nodes.refresh(nodeName) : nodes.get(nodeName),
        csiNode: fresh ? await csiNodes.refresh(nodeName) : csiNodes.get(nodeName),
        csiDriver,
        putBackInMs: last.see(csiDriver),
      };
    },
    isGone: () => false,
    decide: decideRegistration,
    apply: (step: RegistrationStep, view) =>
      applyStep(context, step, view, last.object ?? csiDriverFor(driver.info, described)),
  });
  const asking = askAgain(context, { askMs, signal }, (now) => {
    if (info === undefined || isDeepStrictEqual(now, info)) return;
    context.logger.info({ before: info, now }, "the driver says something else about its node");
    info = now;
    controller.add("node");
  });
  await Promise.all([controller.run(signal), asking]);
}

/** A driver that was started anew may have other limits or be at another place, and sends no event. */
async function askAgain(
  context: SidecarContext,
  { askMs, signal }: { askMs: number; signal: AbortSignal },
  heard: (info: NodeInfo) => void,
): Promise<void> {
  while (!signal.aborted) {
    await delay(askMs, signal).catch(() => {});
    if (signal.aborted) return;
    // The health controller reports whether it responds.
    await nodeInfo(context, signal).then(heard, () => {});
  }
}

async function nodeInfo({ driver, timeoutMs }: SidecarContext, signal: AbortSignal): Promise<NodeInfo> {
  const info = await driver.client.node.nodeGetInfo({}, { signal, timeoutMs });
  return {
    nodeId: info.nodeId,
    maxVolumes: Number(info.maxVolumesPerNode),
    segments: { ...info.accessibleTopology?.segments },
  };
}

async function applyStep(
  context: SidecarContext,
  step: RegistrationStep,
  { csiNode, node }: RegistrationView,
  wanted: CSIDriver,
): Promise<void> {
  const { store, cluster, events } = context;
  switch (step.do) {
    case "create-csi-driver":
      cluster.csiDrivers.wrote(await store.create(CSIDrivers, wanted));
      return;
    case "update-node": {
      if (node === undefined) return;
      const { annotations, labels } = step;
      // The annotation is shared with the registrars of other drivers: nothing of theirs may be lost.
      // As it is now: of what was decided upon, the version was left out.
      const current = cluster.nodes.get(node.metadata.name) ?? node;
      await patchMetadata(store, cluster.nodes, current, { annotations, labels, checkVersion: true });
      return;
    }
    case "create-csi-node":
      if (node === undefined) return;
      cluster.csiNodes.wrote(await store.create(CSINodes, csiNodeFor(node, step.drivers)));
      return;
    case "update-csi-node": {
      if (csiNode === undefined) return;
      const { resourceVersion, uid } = csiNode.metadata;
      const body = { metadata: { resourceVersion, uid }, spec: { drivers: step.drivers } };
      cluster.csiNodes.wrote(await store.patch(CSINodes, objectKey(csiNode), { type: "merge", body }));
      return;
    }
    case "report":
      if (node !== undefined) events.event(node, "Warning", "TopologyLabelCollision", step.message);
      throw new Error(step.message);
  }
}

/**
 * The CSIDriver object as it last was. An administrator who deletes it may be about to make it anew (its fields cannot all
 * be changed), so it is not put back at once; and when it is, it has what it had.
 */
class LastSeen {
  object: CSIDriver | undefined;
  readonly #now: () => number;
  readonly #replaceMs: number;
  #goneSince: number | undefined;

  constructor(now: () => number, replaceMs: number) {
    this.#now = now;
    this.#replaceMs = replaceMs;
  }

  /** Milliseconds until it may be put back; 0 for one that never was. */
  see(csiDriver: CSIDriver | undefined): number {
    if (csiDriver !== undefined) {
      const { apiVersion, kind, metadata, spec } = csiDriver;
      const { name, labels = {}, annotations = {} } = metadata;
      this.object = { apiVersion, kind, metadata: { name, labels, annotations }, spec };
      this.#goneSince = undefined;
      return 0;
    }
    if (this.object === undefined) return 0;
    this.#goneSince ??= this.#now();
    return Math.max(0, this.#goneSince + this.#replaceMs - this.#now());
  }
}

function csiNodeFor(node: NonNullable<RegistrationView["node"]>, drivers: CsiNodeEntry[]): CSINode {
  const { name, uid = "" } = node.metadata;
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSINode",
    metadata: { name, ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }] },
    spec: { drivers },
  };
}
