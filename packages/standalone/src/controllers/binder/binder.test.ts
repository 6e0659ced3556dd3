import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isOutcome,
  type Outcome,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import fc from "fast-check";
import { defaultClassOf, IS_DEFAULT_CLASS } from "../../builtin/default-class.ts";
import { type ClaimStep, type ClaimView, decideClaim } from "./decide-claim.ts";
import { decideVolume } from "./decide-volume.ts";
import { findVolume } from "./match.ts";
import * as names from "./names.ts";
import { reserved } from "./reserve.ts";

type Spec<T extends { spec?: unknown }> = Partial<NonNullable<T["spec"]>>;

function claimOf(
  spec: Spec<PersistentVolumeClaim> = {},
  more: Partial<PersistentVolumeClaim> = {},
): PersistentVolumeClaim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "c", namespace: "ns", uid: "uid-c" },
    spec: {
      storageClassName: "fast",
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "2Gi" } },
      ...spec,
    },
    status: { phase: "Pending" },
    ...more,
  };
}

function volumeOf(name: string, spec: Spec<PersistentVolume> = {}, phase = "Available"): PersistentVolume {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: { storageClassName: "fast", capacity: { storage: "5Gi" }, accessModes: ["ReadWriteOnce"], ...spec },
    status: { phase },
  };
}

const fast: StorageClass = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: "fast" },
  provisioner: "p.example",
};
const later: StorageClass = { ...fast, volumeBindingMode: "WaitForFirstConsumer" };

function decide(claim: PersistentVolumeClaim, view: Partial<ClaimView> = {}): ClaimStep | Outcome {
  return decideClaim({
    claim,
    candidates: [],
    named: undefined,
    storageClass: fast,
    defaultClass: undefined,
    ...view,
  });
}

const bound = { [names.BIND_COMPLETED]: "yes" };
const withAnnotations = (
  annotations: Record<string, string>,
  spec: Spec<PersistentVolumeClaim> = {},
  phase = "Pending",
) =>
  claimOf(spec, { metadata: { name: "c", namespace: "ns", uid: "uid-c", annotations }, status: { phase } });
const ours = { claimRef: { namespace: "ns", name: "c", uid: "uid-c" } };

test("the table of what follows for a claim", () => {
  covers("K8S-098");
  const rows: [title: string, step: ClaimStep | Outcome, expected: string][] = [
    ["a new claim gets a phase", decide(claimOf({}, { status: {} }), { storageClass: later }), "set-phase"],
    [
      "no class: the default one",
      decide(claimOf({ storageClassName: undefined } as never), {
        storageClass: undefined,
        defaultClass: fast,
      }),
      "set-class",
    ],
    [
      "the empty class means none, not the default",
      decide(claimOf({ storageClassName: "" }), { storageClass: undefined, defaultClass: fast }),
      "report FailedBinding",
    ],
    ["nothing fits: ask the provisioner", decide(claimOf()), "request-provisioning ExternalProvisioning"],
    [
      "asked already",
      decide(
        withAnnotations({
          [names.STORAGE_PROVISIONER]: "p.example",
          [names.BETA_STORAGE_PROVISIONER]: "p.example",
        }),
      ),
      "report ExternalProvisioning",
    ],
    ["an unknown class", decide(claimOf(), { storageClass: undefined }), "report ProvisioningFailed"],
    ["delayed: wait for a pod", decide(claimOf(), { storageClass: later }), "report WaitForFirstConsumer"],
    [
      "delayed: a free volume is not taken either",
      decide(claimOf(), { storageClass: later, candidates: [volumeOf("v")] }),
      "report WaitForFirstConsumer",
    ],
    [
      "delayed, node chosen: provision",
      decide(withAnnotations({ [names.SELECTED_NODE]: "n" }), { storageClass: later }),
      "request-provisioning ExternalProvisioning",
    ],
    [
      "delayed, reserved for it: bind",
      decide(claimOf(), { storageClass: later, candidates: [volumeOf("v", ours)] }),
      "mark-volume-bound",
    ],
    ["a free volume: reserve it first", decide(claimOf(), { candidates: [volumeOf("v")] }), "reserve"],
    ["named and free", decide(claimOf({ volumeName: "v" }), { named: volumeOf("v") }), "reserve"],
    [
      "named and too small",
      decide(claimOf({ volumeName: "v" }), { named: volumeOf("v", { capacity: { storage: "1Gi" } }) }),
      "report VolumeMismatch",
    ],
    [
      "named and somebody else's",
      decide(claimOf({ volumeName: "v" }), {
        named: volumeOf("v", { claimRef: { namespace: "ns", name: "c", uid: "other" } }),
      }),
      "report FailedBinding",
    ],
    ["named and not there yet", decide(claimOf({ volumeName: "v" })), "wait"],
    [
      "second write: the volume's phase",
      decide(claimOf(), { candidates: [volumeOf("v", ours)] }),
      "mark-volume-bound",
    ],
    [
      "third write: the claim",
      decide(claimOf(), { candidates: [volumeOf("v", ours, "Bound")] }),
      "bind-claim",
    ],
    [
      "fourth write: the claim's status",
      decide(withAnnotations(bound, { volumeName: "v" }), { named: volumeOf("v", ours, "Bound") }),
      "set-bound-status",
    ],
    [
      "done",
      decide(withAnnotations(bound, { volumeName: "v" }, "Bound"), { named: volumeOf("v", ours, "Bound") }),
      "done",
    ],
    [
      "its volume is gone",
      decide(withAnnotations(bound, { volumeName: "v" }, "Bound")),
      "set-phase ClaimLost",
    ],
    [
      "its volume is another's",
      decide(withAnnotations(bound, { volumeName: "v" }, "Bound"), {
        named: volumeOf("v", { claimRef: { namespace: "ns", name: "d", uid: "uid-d" } }, "Bound"),
      }),
      "set-phase ClaimMisbound",
    ],
  ];
  for (const [title, step, expected] of rows) {
    const notice = "notice" in step && step.notice !== undefined ? ` ${step.notice.reason}` : "";
    assert.equal(`${step.do}${notice}`, expected, title);
  }
});

test("the smallest volume that fits is taken; class, mode, access, labels, phase and node must suit; a reservation wins", () => {
  const volumes = [
    volumeOf("big", { capacity: { storage: "9Gi" } }),
    volumeOf("fits", { capacity: { storage: "3Gi" } }),
    volumeOf("small", { capacity: { storage: "1Gi" } }),
    volumeOf("slow", { storageClassName: "slow", capacity: { storage: "2Gi" } }),
    volumeOf("block", { volumeMode: "Block", capacity: { storage: "2Gi" } }),
    volumeOf("readonly", { accessModes: ["ReadOnlyMany"], capacity: { storage: "2Gi" } }),
    volumeOf("released", { capacity: { storage: "2Gi" } }, "Released"),
  ];
  assert.equal(findVolume(claimOf(), volumes)?.metadata.name, "fits");
  assert.equal(findVolume(claimOf({ selector: { matchLabels: { disk: "ssd" } } }), volumes), undefined);
  const reservation = volumeOf("mine", {
    claimRef: { namespace: "ns", name: "c" },
    capacity: { storage: "99Gi" },
  });
  assert.equal(findVolume(claimOf(), [...volumes, reservation])?.metadata.name, "mine");
  const pinned = volumeOf("pinned", {
    capacity: { storage: "2Gi" },
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }],
      },
    },
  });
  const node = (zone: string) => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n", labels: { zone } },
  });
  assert.equal(findVolume(claimOf(), [pinned], node("a"))?.metadata.name, "pinned");
  assert.equal(findVolume(claimOf(), [pinned], node("b")), undefined);
});

test("what follows for a volume from its claim", () => {
  const claim = claimOf({ volumeName: "v" });
  const rows: [
    title: string,
    volume: PersistentVolume,
    claim: PersistentVolumeClaim | undefined,
    expected: string,
  ][] = [
    ["new", volumeOf("v", {}, ""), undefined, "set-phase Available"],
    [
      "reserved by an operator, claim not there",
      volumeOf("v", { claimRef: { namespace: "ns", name: "c" } }, ""),
      undefined,
      "set-phase Available",
    ],
    ["bound", volumeOf("v", ours), claim, "set-phase Bound"],
    ["its claim is gone", volumeOf("v", ours, "Bound"), undefined, "set-phase Released"],
    ["released stays so", volumeOf("v", ours, "Released"), undefined, "done"],
    [
      "the claim took another: give back",
      {
        ...volumeOf("v", ours),
        metadata: { name: "v", annotations: { [names.BOUND_BY_CONTROLLER]: "yes" } },
      },
      claimOf({ volumeName: "w" }),
      "unreserve",
    ],
    [
      "the claim took another: keep an operator's reservation",
      volumeOf("v", ours),
      claimOf({ volumeName: "w" }),
      "reset-reservation",
    ],
    [
      "the claim took another: made for it, so delete",
      {
        ...volumeOf("v", { ...ours, persistentVolumeReclaimPolicy: "Delete" }),
        metadata: { name: "v", annotations: { [names.PROVISIONED_BY]: "p" } },
      },
      claimOf({ volumeName: "w" }),
      "set-phase Released",
    ],
  ];
  for (const [title, volume, of, expected] of rows) {
    const step = decideVolume({ volume, claim: of });
    assert.equal("phase" in step ? `${step.do} ${step.phase}` : step.do, expected, title);
  }
});

test("the newest default class counts", () => {
  const marked = (name: string, creationTimestamp: string, value = "true"): StorageClass => ({
    ...fast,
    metadata: { name, creationTimestamp, annotations: { [IS_DEFAULT_CLASS]: value } },
  });
  const classes = [
    marked("old", "2024-01-01T00:00:00Z"),
    marked("new", "2025-01-01T00:00:00Z"),
    marked("no", "2026-01-01T00:00:00Z", "false"),
  ];
  assert.equal(defaultClassOf(classes)?.metadata.name, "new");
});

/** The steps of a bind, as the store would carry them out. */
function carryOut(
  step: ClaimStep | Outcome,
  claim: PersistentVolumeClaim,
  volumes: PersistentVolume[],
): [PersistentVolumeClaim, PersistentVolume[]] {
  const replace = (next: PersistentVolume) =>
    volumes.map((each) => (each.metadata.name === next.metadata.name ? next : each));
  switch (step.do) {
    case "reserve":
      return [claim, replace(reserved(step.volume, claim))];
    case "mark-volume-bound":
      return [claim, replace({ ...step.volume, status: { phase: "Bound" } })];
    case "bind-claim":
      return [
        {
          ...claim,
          metadata: { ...claim.metadata, annotations: bound },
          spec: { ...claim.spec, volumeName: step.volume.metadata.name },
        },
        volumes,
      ];
    case "set-bound-status":
      return [{ ...claim, status: { phase: "Bound" } }, volumes];
    default:
      return [claim, volumes];
  }
}

test("whatever volumes there are: a bind ends, on one volume that fits, and no two claims share one", () => {
  const anyVolume = fc.record({
    gigabytes: fc.integer({ min: 1, max: 8 }),
    storageClassName: fc.constantFrom("fast", "slow"),
    phase: fc.constantFrom("Available", "Released", "Pending"),
    volumeMode: fc.constantFrom("Filesystem", "Block"),
  });
  fc.assert(
    fc.property(fc.array(anyVolume, { maxLength: 6 }), fc.integer({ min: 1, max: 4 }), (drawn, claims) => {
      let volumes = drawn.map((each, i) =>
        volumeOf(
          `v${i}`,
          {
            capacity: { storage: `${each.gigabytes}Gi` },
            storageClassName: each.storageClassName,
            volumeMode: each.volumeMode,
          },
          each.phase,
        ),
      );
      const taken: string[] = [];
      for (let i = 0; i < claims; i += 1) {
        let claim = claimOf({}, { metadata: { name: `c${i}`, namespace: "ns", uid: `u${i}` } });
        let step = decide(claim, { candidates: volumes });
        const ends = (next: typeof step) =>
          isOutcome(next) || ["report", "request-provisioning"].includes(next.do);
        for (let rounds = 0; !ends(step); rounds += 1) {
          assert.ok(rounds < 5, `no end: ${step.do}`);
          [claim, volumes] = carryOut(step, claim, volumes);
          step = decide(claim, {
            candidates: volumes,
            named: volumes.find((each) => each.metadata.name === claim.spec?.volumeName),
          });
        }
        if (claim.status?.phase === "Bound") taken.push(claim.spec?.volumeName ?? "");
      }
      assert.equal(new Set(taken).size, taken.length);
      for (const name of taken) {
        const volume = volumes.find((each) => each.metadata.name === name);
        assert.ok(Number.parseInt(volume?.spec?.capacity?.storage ?? "0", 10) >= 2);
        assert.equal(volume?.spec?.storageClassName, "fast");
      }
    }),
  );
});
