import { CsiError } from "@mooring/csi";
import type { AttachmentTicket } from "@mooring/engine";
import type { AccessMode } from "../request/capability.ts";
import { type Capability, modeOfCanonical } from "../request/capability.ts";

/** Ticket parameters that only the driver reads: what the volume was published as. */
export const READ_ONLY = "readOnly";
/** What a request asks for, as messages of refusals call it. */
export const CAPABILITY = "capability";

/** What a ticket of a publication records of it. */
export function useParameters(capability: Capability, readonly: boolean): Record<string, string> {
  return { [READ_ONLY]: String(readonly), [CAPABILITY]: capability.canonical };
}

/**
 * Throws FAILED_PRECONDITION, naming the other node, when the volume is published elsewhere in a way that does not go
 * with this one: modes for one node go with no other node, and `MULTI_NODE_SINGLE_WRITER` with readers only (sections
 * "AccessMode" and "ControllerPublishVolume Errors").
 */
export function requireNoAccessConflict(
  tickets: readonly AttachmentTicket[],
  { volumeId, nodeId, readonly }: { volumeId: string; nodeId: string; readonly: boolean },
  capability: Capability,
): void {
  const { mode } = capability;
  const wanted: Use = { mode, writes: !readonly && !mode.readOnly };
  for (const ticket of tickets) {
    if (ticket.nodeID === nodeId) continue;
    const other = useOf(ticket);
    const node = `node "${ticket.nodeID}"`;
    if (!mode.multiNode || other.mode?.multiNode === false) {
      throw CsiError.failedPrecondition(`volume "${volumeId}" is published to ${node}`, {
        hint: `Unpublish it from ${node} first.`,
      });
    }
    if (wanted.writes && other.writes && (mode.oneWriter || other.mode?.oneWriter === true)) {
      throw CsiError.failedPrecondition(
        `volume "${volumeId}" is written to on ${node}, and its access mode allows one writer`,
        { hint: `Publish it with readonly, or unpublish it from ${node} first.` },
      );
    }
  }
}

interface Use {
  /** Undefined for a ticket that was restored from Kubernetes' own record, which does not record what it was published as. */
  mode: AccessMode | undefined;
  /** Unless it is known to be otherwise. */
  writes: boolean;
}

function useOf({ parameters = {} }: AttachmentTicket): Use {
  const mode = modeOfCanonical(parameters[CAPABILITY] ?? "");
  return { mode, writes: parameters[READ_ONLY] !== "true" && mode?.readOnly !== true };
}
