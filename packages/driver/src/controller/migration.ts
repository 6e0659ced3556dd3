import { CsiError } from "@mooring/csi";
import { type AttachmentTicket, isMigratable, type Volume } from "@mooring/engine";

/** The nodes of a migration: with more it would be a volume for many of them. */
const MOST_NODES = 2;

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
