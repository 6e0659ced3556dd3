import type { TicketReason } from "../../tickets/result.ts";

/** In the message of a ticket that waits for a silent node (`NodeUnfenced`) of which the storage below the pool takes care by itself. */
export const SHUT_OUT_BY_CLUSTER = "the storage cluster is to shut it out of the volume";

/** What would end the wait of a ticket with that reason; for messages. */
export const WAITS: Readonly<Record<TicketReason, string>> = {
  Attached: "the ticket is satisfied: nothing to wait for",
  Attaching: "the node has opened the device",
  Detaching: "the node has closed the device; the ticket then waits its turn",
  WaitingDetach: "the volume is detached from where it was: what uses it there ends",
  WaitingTurn: "the job that has the volume is done, or gives way",
  BlockedByUninterruptible:
    "the ticket that has the volume ends: its workload stops, its job is done, or its time is over",
  AttachedWithIncompatibleParameters: "the ticket that has the volume in the other way ends",
  NodeNotFound:
    "an agent of that name registers; else the ticket names the wrong node and never is satisfied",
  NodeNotReady: "the agent of the node reports again",
  NodeUnreachable: "never on this node: the data are elsewhere",
  NodeUnfenced:
    "the silent node reports again, or is fenced: its taint node.kubernetes.io/out-of-service, or proof that it lost the image, which a Ceph cluster gives by itself",
  VolumeFaulted: "the volume's data are repaired",
  VolumeNotReady: "the volume's image is made",
  VolumeDeleting: "never: the volume is going",
  ShareNotReady: "the share manager has the volume and shares it",
  NetworkNotTrusted:
    "never on this node, until an operator names the network of both nodes as trusted, or they join over one that encrypts",
  Migrating: "one of the two tickets ends: the volume then stays on the node of the other",
  MigrationWaiting: "the step of the migration that the message names is done, or one of the tickets ends",
  GenerationPending: "at once: the arbiter numbers the ticket",
  Flapping: "its backoff is over, or a ticket or the health of a node changes",
  Expired: "the ticket's time is over: it is removed",
  OwnerGone: "the ticket's object is gone: it is removed",
};
