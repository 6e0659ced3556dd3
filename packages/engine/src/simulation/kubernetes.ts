import type { AttachmentTicket, VolumeAttachment } from "../api/attachment.ts";
import { isOwnedByKubernetes, type KubernetesClaim, ownerOf } from "../tickets/kubernetes-claim.ts";
import { ticketStatus, withoutTickets } from "../tickets/tickets.ts";

/** What an attacher sees of the simulated world. */
interface TicketWorld {
  readonly attachment: VolumeAttachment;
  readonly tickets: readonly AttachmentTicket[];
  /** Unpublish calls that wait for their node to be rid of the device. */
  readonly unpublishing: { nodeID: string }[];
  writeTickets(spec: VolumeAttachment["spec"]): unknown;
}

/** Kubernetes' own attachments of the volume, one per node at most, and the attacher that keeps them. */
export class SimKubernetes {
  readonly #claims = new Map<string, KubernetesClaim>();
  #made = 0;

  get claims(): KubernetesClaim[] {
    return [...this.#claims.values()].map((claim) => ({ ...claim }));
  }

  /** A Pod comes to the node: its attachment, which is made before the driver is called. */
  claim(nodeID: string): KubernetesClaim | undefined {
    const present = this.#claims.get(nodeID);
    if (present?.deleting === true) return undefined;
    this.#made += 1;
    const name = `attachment-${nodeID}`;
    const made = present ?? { name, uid: String(this.#made), nodeID, attached: false, deleting: false };
    this.#claims.set(nodeID, made);
    return made;
  }

  /** The Pod leaves: the attachment is marked first, then the driver is called. */
  leave(nodeID: string): void {
    const claim = this.#claims.get(nodeID);
    if (claim !== undefined) claim.deleting = true;
  }

  /** A user who strips its finalizer takes an attachment away without a detach. */
  strip(nodeID: string): void {
    this.#claims.delete(nodeID);
  }

  /** The attacher believes the driver's response, and forgets what it was to detach. */
  attach(world: TicketWorld): void {
    for (const [nodeID, claim] of this.#claims) {
      if (claim.deleting) this.#detach(world, nodeID);
      else claim.attached ||= this.#published(world, nodeID);
    }
  }

  #published({ attachment, tickets }: TicketWorld, nodeID: string): boolean {
    const here = tickets.filter((t) => t.type === "csi-attacher" && t.nodeID === nodeID);
    return here.some(({ id }) => ticketStatus(attachment, id)?.satisfied === true);
  }

  #detach(world: TicketWorld, nodeID: string): void {
    const { next } = withoutTickets(
      world.attachment,
      (t) => t.type === "csi-attacher" && t.nodeID === nodeID,
    );
    if (next !== undefined) {
      world.writeTickets(next);
      world.unpublishing.push({ nodeID });
    }
    if (!world.unpublishing.some((call) => call.nodeID === nodeID)) this.#claims.delete(nodeID);
  }

  /** Ids of the tickets whose attachment is gone, or was made again. */
  orphans(tickets: readonly AttachmentTicket[]): string[] {
    const uids = new Set([...this.#claims.values()].map(({ uid }) => uid));
    const owned = tickets.filter(isOwnedByKubernetes);
    return owned.filter(({ owner }) => !uids.has(owner?.uid ?? "")).map(({ id }) => id);
  }
}

/** The owner of a ticket that an attachment of Kubernetes stands for. */
export function ownerFor(claim: KubernetesClaim | undefined): Pick<AttachmentTicket, "owner"> {
  return claim === undefined ? {} : { owner: ownerOf(claim) };
}
