import type { AttachmentTicket } from "../api/attachment.ts";
import { ruleOf } from "./attacher-types.ts";
import { ineligible } from "./eligible.ts";
import type { ArbiterView } from "./view.ts";

/** A shared volume is held by its share manager; the workloads' own tickets only say that a share is wanted. */
export function claimants(view: ArbiterView, live: readonly AttachmentTicket[]): AttachmentTicket[] {
  const { accessMode, migratable } = view.volume.spec;
  const shared =
    accessMode === "rwx" && migratable !== true && live.some((t) => t.type === "share-manager-controller");
  return shared ? live.filter((ticket) => ticket.type !== "csi-attacher") : [...live];
}

/** Eligible, then the highest priority, then the shorter id, then the first in code point order. */
export function pick(view: ArbiterView, tickets: readonly AttachmentTicket[]): AttachmentTicket | undefined {
  const eligible = tickets.filter((ticket) => ineligible(view, ticket) === undefined);
  return eligible.sort(
    (a, b) =>
      ruleOf(b.type).priority - ruleOf(a.type).priority ||
      a.id.length - b.id.length ||
      (a.id < b.id ? -1 : Number(a.id > b.id)),
  )[0];
}
