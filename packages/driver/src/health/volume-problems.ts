import { v1 } from "@mooring/csi";
import {
  type FaultCause,
  isShared,
  isThickVolume,
  type NodeAgent,
  type Pool,
  suspendsWriters,
  type Volume,
  writersHeldMessage,
  writesFailMessage,
} from "@mooring/engine";
import { isBelowReserve } from "../objects/pool-room.ts";
import { remountMessage } from "./remount-message.ts";

const { VolumeHealthErrorType: Status } = v1;

/** One adverse condition, as `VolumeHealth.VolumeHealthEntry` has it. `reason` is CamelCase, for machines. */
export interface VolumeProblem {
  status: v1.VolumeHealthErrorType;
  reason: string;
  message: string;
}

interface HealthView {
  volume: Volume;
  /** Undefined: its object is gone. */
  pool: Pool | undefined;
  /** The node that the volume cannot be used without; undefined: there is none, or nothing is known of it. */
  node: NodeAgent | undefined;
}

type Rule = (view: HealthView) => VolumeProblem | undefined;

const FAULTS: Readonly<Record<FaultCause, Omit<VolumeProblem, "message">>> = {
  device: { status: Status.INACCESSIBLE, reason: "DeviceFailed" },
  filesystem: { status: Status.INACCESSIBLE, reason: "FilesystemFailed" },
  "image-cut": { status: Status.DATA_LOSS, reason: "ImageCut" },
  "image-lost": { status: Status.DATA_LOSS, reason: "ImageLost" },
};

const faulted: Rule = ({ volume: { status } }) => {
  if (status?.robustness !== "faulted") return undefined;
  const { cause, message } = status.salvage ?? {
    cause: "filesystem" as const,
    message: "the volume is faulted",
  };
  return { ...FAULTS[cause], message };
};

/** Files may be missing after a repair that an operator consented to, until the volume is restored from a snapshot. */
const repairedWithLoss: Rule = ({ volume: { status } }) => {
  const { salvage, restore } = status ?? {};
  if (salvage?.dataLoss !== true || status?.robustness === "faulted") return undefined;
  const restored = restore?.state === "Restored" && (restore.finishedAt ?? "") > (salvage.finishedAt ?? "");
  if (restored) return undefined;
  return { status: Status.DATA_LOSS, reason: "RepairedWithLoss", message: salvage.message };
};

const lastFailure: Rule = ({ volume: { status } }) => {
  if (status?.error === undefined || status.robustness === "faulted") return undefined;
  const { code, message } = status.error;
  return { status: Status.DEGRADED, reason: "LastOperationFailed", message: `${code}: ${message}` };
};

/** A fault explains more: until it is repaired there is nothing to mount. */
const remountRequested: Rule = ({ volume }) => {
  const message = remountMessage(volume);
  if (message === undefined || volume.status?.robustness === "faulted") return undefined;
  return { status: Status.DEGRADED, reason: "RemountRequested", message };
};

const poolClosed: Rule = ({ volume, pool }) => {
  const problem = { status: Status.INACCESSIBLE, reason: "PoolNotReady" };
  if (pool === undefined) return { ...problem, message: `there is no pool "${volume.spec.pool}"` };
  if (pool.status?.ready === true) return undefined;
  const why = pool.status?.conditions?.find(({ type }) => type === "Ready")?.message ?? "it is being opened";
  return { ...problem, message: `pool "${pool.metadata.name}" is not ready: ${why}` };
};

const writersHeld: Rule = ({ pool }) => {
  const why = writersHeldMessage(pool);
  if (pool === undefined || why === undefined) return undefined;
  const message = `pool "${pool.metadata.name}": ${why}`;
  return { status: Status.DEGRADED, reason: "WritersHeld", message };
};

const writesFail: Rule = ({ volume, pool }) => {
  const why = writesFailMessage(pool);
  if (pool === undefined || why === undefined || isThickVolume(volume)) return undefined;
  const message = `pool "${pool.metadata.name}": ${why}`;
  return { status: Status.DATA_LOSS, reason: "WritesFail", message };
};

const poolFull: Rule = ({ volume, pool }) => {
  if (writersHeldMessage(pool) !== undefined || writesFailMessage(pool) !== undefined) return undefined;
  if (pool?.status?.ready !== true || !isBelowReserve(pool) || isThickVolume(volume)) return undefined;
  const then = suspendsWriters(pool) ? "will be suspended" : "fail";
  const message = `pool "${pool.metadata.name}" is below its reserve: writes to its volumes ${then} when it is full`;
  return { status: Status.DEGRADED, reason: "PoolBelowReserve", message };
};

const NODES: Readonly<Partial<Record<string, Omit<VolumeProblem, "message">>>> = {
  Suspect: { status: Status.DEGRADED, reason: "NodeSuspect" },
  Fenced: { status: Status.INACCESSIBLE, reason: "NodeFenced" },
  Gone: { status: Status.INACCESSIBLE, reason: "NodeGone" },
};

const nodeAway: Rule = ({ node }) => {
  const problem = NODES[node?.status?.state ?? ""];
  if (problem === undefined) return undefined;
  return { ...problem, message: `node "${node?.metadata.name}" is ${node?.status?.state}` };
};

const RULES: readonly Rule[] = [
  faulted,
  repairedWithLoss,
  remountRequested,
  lastFailure,
  poolClosed,
  writersHeld,
  writesFail,
  poolFull,
  nodeAway,
];

/** What is wrong with a volume by its objects, at most one entry per reason; empty: nothing is known. Pure. */
export function volumeProblems(view: HealthView): VolumeProblem[] {
  return RULES.flatMap((rule) => rule(view) ?? []);
}

/** Without which node the volume cannot be used: the one that has its pool, or that has it open in a shared one. */
export function neededNode(volume: Volume, pool: Pool | undefined): string | undefined {
  return isShared(pool) ? volume.status?.currentNodeID : pool?.spec.nodeID;
}
