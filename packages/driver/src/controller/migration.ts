import { CsiError } from "@mooring/csi";
import { type AttachmentTicket, isMigratable, isShared, type Pool, type Volume } from "@mooring/engine";
import type { AccessMode } from "../request/access-modes.ts";
import { modeOf } from "../request/capability.ts";
import { MIGRATABLE_PARAMETER } from "../request/parameters.ts";
import type { VolumeRequest } from "../request/volume-request.ts";

/** More would be a volume for many nodes; a migration has two. */
const MOST_NODES = 2;

/** The volume is to be one that a running virtual machine can take along. */
export function wantsMigration({ parameters }: Pick<VolumeRequest, "parameters">): boolean {
  return parameters[MIGRATABLE_PARAMETER] === "true";
}

/** Two nodes have its device at once, so it is a raw one, and asked for as one that several nodes may write to. */
export function requireMigratableUse({ capabilities }: VolumeRequest): void {
  const wrong = capabilities.find(({ access }) => access !== "block");
  if (wrong !== undefined) {
    throw CsiError.invalidArgument(`parameter "${MIGRATABLE_PARAMETER}" is for block volumes only`, {
      hint: "Two nodes cannot mount one file system: ask for block access, or leave the parameter out.",
    });
  }
  const twoWrite = ({ short, oneWriter }: AccessMode) => short === "rwx" && !oneWriter;
  if (capabilities.map(modeOf).some(twoWrite)) return;
  throw CsiError.invalidArgument(`a migratable volume needs an access mode that lets two nodes write`, {
    hint: "Use MULTI_NODE_MULTI_WRITER (ReadWriteMany).",
  });
}

/** Pools whose images several nodes can open. Throws when the request names another one, or there is none. */
export function sharedPools(pools: readonly Pool[], named: string | undefined): Pool[] {
  const shared = pools.filter(isShared);
  const local = pools.find(
    ({ metadata }) => metadata.name === named && !shared.some((p) => p.metadata.name === named),
  );
  if (shared.length > 0 && local === undefined) return shared;
  const what = local === undefined ? "there is no shared pool" : `pool "${named}" is on one node`;
  throw CsiError.invalidArgument(`${what}: a migratable volume needs one that several nodes reach`, {
    hint: "Start the nodes with --shared-pool, and name that pool.",
  });
}

/** A second node gets the volume when the first one has it, and a third never. */
export function requireFreeToMigrate(
  volume: Volume,
  tickets: readonly AttachmentTicket[],
  nodeId: string,
): void {
  if (!isMigratable(volume)) return;
  const { name } = volume.metadata;
  const others = tickets.filter((ticket) => ticket.nodeID !== nodeId);
  if (others.length >= MOST_NODES) {
    const nodes = others.map(({ nodeID }) => `"${nodeID}"`).join(" and ");
    throw CsiError.failedPrecondition(`volume "${name}" is migrating between nodes ${nodes}`, {
      hint: "Unpublish it from one of them first.",
    });
  }
  const [first] = others;
  const { state, currentNodeID } = volume.status ?? {};
  if (first === undefined || (state === "attached" && currentNodeID === first.nodeID)) return;
  throw CsiError.failedPrecondition(
    `volume "${name}" is published to node "${first.nodeID}", which does not have it open now`,
    { hint: "Repeat the call when it is attached there, or unpublish it from that node." },
  );
}
