import type { Volume } from "../api/volume.ts";

/**
 * How far a live migration is:
 * - `opening` (step 1 of 3): the target opens its device, fenced from the data;
 * - `ready` (2): both nodes have a device, the source's is the one that works;
 * - `moving` (3): confirmed; the source closes its device and hands its lease over, the target's comes to life;
 * - `closing`: rolled back, or taken away; the target closes what it has.
 */
type MigrationPhase = "none" | "opening" | "ready" | "moving" | "closing";

interface Migration {
  phase: MigrationPhase;
  /** The node that has the volume, or has had it until now; empty: none. */
  from: string;
  /** The node that it moves to, or that still closes its device. */
  to: string;
}

type Fields = Pick<Volume, "spec" | "status">;

/** A block volume that several nodes may have open: what virtual machines are moved with. */
export function isMigratable({ spec }: Pick<Volume, "spec">): boolean {
  return spec.migratable === true && spec.accessMode === "rwx" && spec.volumeMode === "Block";
}

/**
 * The device that a workload on the node is given: the one that works, or the one that will when the volume has moved
 * there; undefined: none.
 */
export function deviceOn({ status }: Pick<Volume, "status">, nodeID: string): string | undefined {
  const { state, currentNodeID, currentMigrationNodeID, device, migrationDevice } = status ?? {};
  if (state === "attached" && currentNodeID === nodeID) return device ?? "";
  return currentMigrationNodeID === nodeID ? (migrationDevice ?? "") : undefined;
}

/** Confirmed, and not done yet: the wanted node is the one that the volume migrates to. */
export function isMoving({ spec, status }: Fields): boolean {
  const { nodeID = "" } = spec;
  const { state, currentNodeID = "", currentMigrationNodeID = "" } = status ?? {};
  const elsewhere = currentNodeID !== "" && currentNodeID !== nodeID;
  return nodeID !== "" && nodeID === currentMigrationNodeID && elsewhere && state === "attached";
}

/** Pure. */
export function migrationOf(volume: Fields): Migration {
  const { nodeID: wanted = "", migrationNodeID = "" } = volume.spec;
  const { currentNodeID = "", currentMigrationNodeID = "" } = volume.status ?? {};
  if (isMoving(volume)) return { phase: "moving", from: currentNodeID, to: wanted };
  const from = currentNodeID === "" ? wanted : currentNodeID;
  if (currentMigrationNodeID === "") {
    return { phase: migrationNodeID === "" ? "none" : "opening", from, to: migrationNodeID };
  }
  const phase = currentMigrationNodeID === migrationNodeID ? "ready" : "closing";
  return { phase, from, to: currentMigrationNodeID };
}

const STEPS: Readonly<Record<MigrationPhase, string | undefined>> = {
  none: undefined,
  opening: "step 1 of 3",
  ready: "step 2 of 3",
  moving: "step 3 of 3",
  closing: "rolling back",
};

/** For messages: "step 2 of 3: a to b"; undefined when the volume does not migrate. */
export function describeMigration(volume: Fields): string | undefined {
  const { phase, from, to } = migrationOf(volume);
  const step = STEPS[phase];
  return step === undefined ? undefined : `${step}: ${from || "nowhere"} to ${to}`;
}
