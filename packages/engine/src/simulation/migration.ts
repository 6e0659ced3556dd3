import { decideMigration, type MigrationRecord, type MigrationView } from "../node/migration/decide.ts";
import { isMigratable, isMoving, migrationOf } from "../tickets/migration-phase.ts";
import type { AgentStep, SimMigrationStep, SimVolume } from "./model.ts";
import { must } from "./safety.ts";
import { NODES, type World } from "./world.ts";

/** The node's own next step about a migration: the real decision, on what this node has. */
export function migrationStep(world: World, nodeID: string): AgentStep | "wait" | undefined {
  const { volume, lease } = world;
  if (!isMigratable(volume)) return undefined;
  const step = decideMigration(viewOf(world, nodeID));
  if (step?.do === "wait") return "wait";
  if (step !== undefined) return { do: "migrate", step };
  return leaseStep(world, nodeID) ?? (lease.holder === nodeID ? undefined : "wait");
}

/** Apart from migrations: nothing is done without the lease, and it goes back when it is not needed. */
function leaseStep(world: World, nodeID: string): AgentStep | undefined {
  const { volume, lease } = world;
  const { nodeID: wanted = "" } = volume.spec;
  const responsible = isResponsible(world, nodeID);
  const kept = isMoving(volume) && wanted === nodeID;
  // A file that its last lease holder may still write to is replaced first, and with it what was opened from the old one.
  if (lease.holder === nodeID && lease.unclean) return { do: "migrate", step: { do: "renew-image" } };
  if (lease.holder === nodeID && !responsible && !kept)
    return { do: "migrate", step: { do: "release-lease" } };
  const free = lease.holder === "" && (lease.for === "" || lease.for === nodeID || lease.for !== wanted);
  const able = responsible && free && !(isMoving(volume) && wanted !== nodeID);
  return able ? { do: "migrate", step: { do: "take-lease" } } : undefined;
}

/** As the agents agree on it; what is to be done anywhere is only to clear away after a target that is lost. */
function isResponsible(world: World, nodeID: string): boolean {
  const { volume } = world;
  const { nodeID: wanted = "" } = volume.spec;
  if (volume.opener !== "") return volume.opener === nodeID;
  if (wanted !== "") return wanted === nodeID;
  const first = NODES.find((name) => world.node(name).believed === "Ready");
  return migrationOf(volume).phase === "closing" && !isTargetReady(world) && first === nodeID;
}

function isTargetReady({ volume, nodes }: World): boolean {
  return nodes.get(volume.status.currentMigrationNodeID ?? "")?.believed === "Ready";
}

function viewOf(world: World, nodeID: string): MigrationView {
  const { volume, lease } = world;
  const node = world.node(nodeID);
  const held = lease.holder === nodeID;
  const free = lease.holder === "" && (lease.for === "" || lease.for === nodeID);
  return {
    volume: { ...volume, status: { ...volume.status, ownerID: volume.opener } },
    nodeID,
    device: node.open ? "open" : node.withheld ? "withheld" : "none",
    path: node.open || node.withheld ? "/dev/loop1" : "",
    lease: { held, ours: held, free, unclean: lease.unclean },
    responsible: isResponsible(world, nodeID),
    targetReady: isTargetReady(world),
  };
}

/** What was decided is done now, on whatever has become of the world since. */
export function migrate(world: World, nodeID: string, step: SimMigrationStep, version: number): void {
  const node = world.node(nodeID);
  const { lease } = world;
  world.log(`node "${nodeID}" does ${step.do === "record" ? `record ${step.what}` : step.do}`);
  switch (step.do) {
    case "withhold-device":
      if (!node.open) node.withheld = true;
      return;
    case "fence":
      Object.assign(node, { open: false, withheld: true });
      return;
    case "drop-device":
    case "close-source":
      Object.assign(node, { open: false, withheld: false });
      return;
    case "activate-device":
      if (lease.holder === nodeID && node.withheld) Object.assign(node, { open: true, withheld: false });
      return;
    case "hand-over":
      if (!node.partitioned && lease.holder === nodeID) Object.assign(lease, { holder: "", for: step.to });
      return;
    case "take-lease":
      if (!node.partitioned && lease.holder === "") Object.assign(lease, { holder: nodeID, for: "" });
      return;
    case "renew-image":
      if (lease.holder === nodeID) Object.assign(lease, { unclean: false });
      node.withheld = false;
      return;
    case "release-lease":
      if (!node.partitioned) giveBack(world, nodeID);
      return;
    case "record":
      recordMigration(world, nodeID, step.what, version);
  }
}

function recordMigration(world: World, nodeID: string, what: MigrationRecord, version: number): void {
  const { volume } = world;
  const node = world.node(nodeID);
  if (node.partitioned || !world.writeVolume(recorded(volume, nodeID, what), version)) return;
  const { open, withheld } = node;
  if (what === "target-ready") must(withheld && !open, "S14", `"${nodeID}" is no target: its device is open`);
  if (what === "target-closed") must(!open, "S2", `"${nodeID}" recorded closed with its device open`);
  if (what === "moved") must(open, "S2", `"${nodeID}" recorded attached without a device`);
}

function recorded(volume: SimVolume, nodeID: string, what: MigrationRecord): SimVolume {
  const { status } = volume;
  if (what === "target-ready") {
    const here = { currentMigrationNodeID: nodeID, migrationDevice: "/dev/loop1" };
    return { ...volume, status: { ...status, ...here } };
  }
  const left = { ...status, currentMigrationNodeID: "" };
  if (what !== "moved") return { ...volume, status: left };
  const shown = { currentNodeID: nodeID, state: "attached" as const, frontendDisabled: false };
  return { ...volume, status: { ...left, ...shown }, opener: nodeID };
}

/** A volume that does not migrate has no lease of its own here. */
export function mayOpen(world: World, nodeID: string): boolean {
  return !isMigratable(world.volume) || world.lease.holder === nodeID;
}

/** The node gives the image's lease back. */
export function giveBack({ lease }: World, nodeID: string): void {
  if (lease.holder === nodeID) Object.assign(lease, { holder: "", for: "" });
}

/** The node is fenced: its leases are free to take, but not as they were. */
export function loseLease({ lease }: World, nodeID: string): void {
  if (lease.holder === nodeID) Object.assign(lease, { holder: "", for: "", unclean: true });
}

/** A step as text, for the story of a history. */
export function nameOf(step: AgentStep): string {
  if (step.do === "migrate") return step.step.do === "record" ? `record ${step.step.what}` : step.step.do;
  return step.do === "record" ? `record ${step.state}` : `${step.do} the device`;
}
