import { type CSIDriver, msLeft } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import type { NodeInfo, RegistrationView } from "./decide.ts";

/** What a registration depends on besides objects. */
export interface RegistrationInput {
  nodeName: string;
  /** What NodeGetInfo returned last. */
  info: NodeInfo;
  /** Whether a CSIDriver object that does not exist is made. */
  createsCsiDriver: boolean;
  last: LastSeen;
}

/** Reads the driver's CSIDriver, and the node with its CSINode. */
export async function readRegistration(
  { cluster, driver }: SidecarContext,
  { nodeName, info, createsCsiDriver, last }: RegistrationInput,
  fresh: boolean,
): Promise<RegistrationView> {
  const { csiDrivers, csiNodes, nodes } = cluster;
  const { name } = driver.info;
  const csiDriver = fresh ? await csiDrivers.refresh(name) : csiDrivers.get(name);
  return {
    driver: name,
    nodeName,
    info,
    hasDriver: createsCsiDriver && !driver.info.controllerElsewhere,
    node: fresh ? await nodes.refresh(nodeName) : nodes.get(nodeName),
    csiNode: fresh ? await csiNodes.refresh(nodeName) : csiNodes.get(nodeName),
    csiDriver,
    putBackInMs: last.see(csiDriver),
  };
}

/** NodeGetInfo of the driver. */
export async function nodeInfo(
  { driver, timeoutMs }: SidecarContext,
  signal: AbortSignal,
): Promise<NodeInfo> {
  const info = await driver.client.node.nodeGetInfo({}, { signal, timeoutMs });
  return {
    nodeId: info.nodeId,
    maxVolumes: Number(info.maxVolumesPerNode),
    segments: { ...info.accessibleTopology?.segments },
  };
}

/**
 * The CSIDriver object as it last was. An administrator who deletes it may be about to make it anew (its fields cannot all
 * be changed), so it is not put back at once; and when it is, it has what it had.
 */
export class LastSeen {
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
    const now = this.#now();
    this.#goneSince ??= now;
    return msLeft({ since: this.#goneSince, forMs: this.#replaceMs, now });
  }
}
