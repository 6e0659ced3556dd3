import { msLeft } from "@mooring/store";
import { EngineError } from "../../../errors.ts";
import { isAttachedTo } from "../../../tickets/exposure.ts";
import { placement } from "./placement.ts";
import type { CoordinatorView } from "./view.ts";

/** Nodes that live prepare in less; until then the group reports nothing of them. */
const USUAL_MS = 10_000;

interface PrepareTimeout {
  /** What the group waits for, when there is a reason to report it. */
  error?: EngineError;
  /** Read again then, if nothing has happened. */
  afterMs?: number;
}

/** Whom a group that prepares waits for: nodes that do not respond at once, others when they take unusually long. */
export function prepareTimeout(view: CoordinatorView): PrepareTimeout {
  const members = latecomers(view);
  const silent = members.filter(({ nodeID }) => nodeID !== "" && !view.readyNodes.has(nodeID));
  if (silent.length > 0) return { error: describe(silent, "its agent does not respond") };
  const { creationTimestamp } = view.group.metadata;
  if (members.length === 0 || creationTimestamp === undefined) return {};
  const now = view.now.getTime();
  const afterMs = msLeft({ since: Date.parse(creationTimestamp), forMs: USUAL_MS, now });
  return afterMs > 0 ? { afterMs } : { error: describe(members, "it is not prepared yet") };
}

type Placed = ReturnType<typeof placement>[number];

/** Members that their node does not have open, has not written down, or has not prepared. */
function latecomers(view: CoordinatorView): Placed[] {
  const { nodes = {}, attempt } = view.group.status ?? {};
  return placement(view).filter(({ volume: name, snapshot, nodeID }) => {
    const volume = view.volumes.get(name);
    const report = nodes[nodeID];
    const attached = volume !== undefined && isAttachedTo(volume, nodeID);
    const recorded = view.snapshots.get(snapshot)?.status?.ownerID !== undefined;
    return !(attached && recorded && report?.attempt === attempt && report?.phase === "prepared");
  });
}

/** `volume v-1, v-2 on node a, volume v-3 on node b: why` */
function describe(members: readonly Placed[], why: string): EngineError {
  const nodes = [...new Set(members.map(({ nodeID }) => nodeID))].sort();
  const each = nodes.map((node) => {
    const names = members.filter(({ nodeID }) => nodeID === node).map(({ volume }) => volume);
    return `volume ${names.join(", ")} ${node === "" ? "on no node yet" : `on node ${node}`}`;
  });
  return new EngineError("UNAVAILABLE", `${each.join(", ")}: ${why}`);
}
