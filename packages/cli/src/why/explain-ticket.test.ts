import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type AttachmentTicket,
  MOORING_API_VERSION,
  SHUT_OUT_BY_CLUSTER,
  type VolumeAttachment,
  WAITS,
} from "@mooring/engine";
import { explainTickets } from "./explain-ticket.ts";

const NOW = new Date("2026-01-01T00:10:00Z");
const SINCE = "2026-01-01T00:00:00Z";
const ticket: AttachmentTicket = {
  ...{ id: "t", type: "longhorn-api", nodeID: "node-a", generation: 3, createdAt: SINCE },
  parameters: { lastAttachedBy: "ann" },
};

function attachmentWith(reason: string, satisfied: boolean): VolumeAttachment {
  const status = satisfied ? ("True" as const) : ("False" as const);
  const condition = {
    type: "Satisfied",
    ...{ status, reason, message: `because of ${reason}`, lastTransitionTime: SINCE },
  };
  return {
    ...{ apiVersion: MOORING_API_VERSION, kind: "VolumeAttachment", metadata: { name: "v" } },
    spec: { volume: "v", attachmentTickets: { t: ticket } },
    status: {
      attachmentTicketStatuses: { t: { id: "t", satisfied, generation: 3, conditions: [condition] } },
    },
  };
}

describe("mooring why: a ticket", () => {
  for (const [reason, ends] of Object.entries(WAITS)) {
    test(`${reason}: who waits, for whom, since when, why, and what ends it`, () => {
      const [found] = explainTickets(attachmentWith(reason, reason === "Attached"), NOW);
      assert.match(found?.subject ?? "", /ticket t \(longhorn-api, node node-a, for ann\)/);
      assert.match(found?.message ?? "", /for 10m/);
      if (reason === "Attached") return assert.equal(found?.state, "ok");
      assert.equal(found?.state, "waiting");
      assert.ok(
        found?.message.includes(`${reason}: because of ${reason}; ends when: ${ends}`),
        found?.message,
      );
    });
  }

  test("a result of an earlier request means nothing for this one", () => {
    const { spec, ...rest } = attachmentWith("Attached", true);
    const attachmentTickets = { t: { ...ticket, generation: 4 } };
    const [found] = explainTickets({ ...rest, spec: { ...spec, attachmentTickets } }, NOW);
    assert.match(found?.message ?? "", /not evaluated yet by the arbiter/);
  });

  const HOLDERS: readonly [string, Partial<AttachmentTicket>, RegExp][] = [
    [
      "an operator",
      { type: "longhorn-api", parameters: { lastAttachedBy: "bob" } },
      /takes it from bob; the device stays/,
    ],
    [
      "a workload of Kubernetes",
      {
        type: "csi-attacher",
        owner: { apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment", name: "csi-1" },
      },
      /deletes VolumeAttachment csi-1 of Kubernetes, which attaches it again/,
    ],
    [
      "a caller of the driver",
      { type: "csi-attacher" },
      /ends its publication on the node; the device stays/,
    ],
    ["a job", { type: "volume-restore-controller" }, /interrupts its job, which asks again/],
    ["a share", { type: "share-manager-controller" }, /in vain: it comes back/],
  ];
  for (const reason of ["BlockedByUninterruptible", "AttachedWithIncompatibleParameters"]) {
    for (const [who, more, does] of HOLDERS) {
      test(`${reason} by ${who}: how to end that ticket at once, and what that does`, () => {
        const attachment = attachmentWith(reason, false);
        const holder = { ...ticket, ...more, id: "other" };
        const bystander = { ...ticket, id: "bystander" };
        attachment.spec.attachmentTickets = { t: ticket, other: holder, bystander };
        const [condition] = attachment.status?.attachmentTicketStatuses?.["t"]?.conditions ?? [];
        if (condition !== undefined) condition.message = 'held on node "b" by ticket "other" (x)';
        const { next = "" } =
          explainTickets(attachment, NOW).find(({ subject }) => /^ticket t /.test(subject)) ?? {};
        assert.match(
          next,
          /^see who has it: mooring ticket list v; to end it now: mooring ticket rm v other --force \(/,
        );
        assert.match(next, does);
        assert.doesNotMatch(next, /bystander/);
      });
    }
  }

  test("a growth that waits for the pods of its volume: to end those, and no ticket below them", () => {
    const reason = "AttachedWithIncompatibleParameters";
    const attachment = attachmentWith(reason, false);
    const owner = { apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment", name: "csi-1" };
    attachment.spec.attachmentTickets = {
      t: { ...ticket, type: "volume-expansion-controller" },
      other: { ...ticket, id: "other", type: "csi-attacher", owner },
    };
    const [condition] = attachment.status?.attachmentTicketStatuses?.["t"]?.conditions ?? [];
    if (condition !== undefined)
      condition.message = 'attached with its device by ticket "other" (csi-attacher)';
    const { next = "" } =
      explainTickets(attachment, NOW).find(({ subject }) => /^ticket t /.test(subject)) ?? {};
    assert.match(next, /^end the pods that use it, and it grows .*kubectl delete pod/);
    assert.doesNotMatch(next, /ticket rm/);
  });

  test("a ticket for a node that there is not: how to end it, whoever has it", () => {
    const [found] = explainTickets(attachmentWith("NodeNotFound", false), NOW);
    assert.match(found?.next ?? "", /mooring ticket rm v t --force \(takes it from ann;/);
  });

  test("a silent node: the taint only where nobody else shuts it out", () => {
    const nextOf = (message: string) => {
      const attachment = attachmentWith("NodeUnfenced", false);
      const [condition] = attachment.status?.attachmentTicketStatuses?.["t"]?.conditions ?? [];
      if (condition !== undefined) condition.message = message;
      return explainTickets(attachment, NOW)[0]?.next ?? "";
    };
    assert.match(
      nextOf("held: fence the node to move it"),
      /^make sure .* is off, then: kubectl taint node /,
    );
    const byItself = nextOf(`held: ${SHUT_OUT_BY_CLUSTER}, which an event says`);
    assert.match(byItself, /^wait: .*: kubectl describe volumes\.storage\.mooring\.dev v$/);
    assert.doesNotMatch(byItself, /taint/);
  });
});
