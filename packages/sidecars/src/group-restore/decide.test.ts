import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolumeClaim, StorageClass } from "@mooring/store";
import { RESTORE_LABEL, RESTORE_UID, type VolumeGroupRestore } from "../kube/group-restore.ts";
import { claim, storageClass } from "../testing/objects.ts";
import { decideGroupRestore } from "./decide.ts";
import type { RestoreStatus } from "./statuses.ts";
import { groupContent, groupRestore, groupSnapshot, member } from "./testing/group.ts";
import type { GroupRestoreView } from "./view.ts";

const NOW = "2026-01-01T00:00:00Z";
const CLAIMS = ["data", "wal"];
const named = (...claims: PersistentVolumeClaim[]) =>
  new Map(claims.map((each) => [each.metadata.name, each]));

function view(changes: Partial<GroupRestoreView> = {}): GroupRestoreView {
  return {
    driver: "test.csi.example.com",
    restore: groupRestore(),
    groupSnapshot: groupSnapshot(),
    content: groupContent(CLAIMS),
    members: CLAIMS.map((name) => member(name)),
    claims: named(claim("data"), claim("wal", { accessModes: ["ReadWriteOncePod"] })),
    classes: [storageClass()],
    refused: new Map(),
    troubles: new Map(),
    backoffMs: 0,
    now: NOW,
    ...changes,
  };
}

/** The status that the next step writes. */
function status(changes: Partial<GroupRestoreView> = {}): RestoreStatus {
  const step = decideGroupRestore(view(changes));
  assert.equal(step.do, "write-status", JSON.stringify(step));
  return (step as { status: RestoreStatus }).status;
}

const planned = (spec: Partial<VolumeGroupRestore["spec"]> = {}): VolumeGroupRestore => {
  const restore = groupRestore(spec);
  return { ...restore, status: status({ restore }) };
};
const condition = ({ conditions }: RestoreStatus, type: string) =>
  conditions?.find((each) => each.type === type);

function failsWith(reason: string, message: RegExp, changes: Partial<GroupRestoreView>): void {
  const written = status(changes);
  assert.equal(written.phase, "Failed", written.message);
  assert.equal(written.members, undefined, "nothing is planned");
  const failed = condition(written, "Failed");
  assert.deepEqual([failed?.status, failed?.reason], ["True", reason]);
  assert.match(written.message, message);
}

test("the plan has for every member what its claim will be, before any claim is made", () => {
  const { members, phase, claims, source } = status();
  assert.deepEqual([phase, claims], ["Restoring", { total: 2, created: 0, bound: 0 }]);
  assert.deepEqual(source, { uid: "uid-g", driver: "test.csi.example.com" });
  const common = { storageClassName: "fast", size: "1Gi", volumeMode: "Filesystem" };
  const made = { phase: "Pending", message: "the claim will be made" };
  assert.deepEqual(members, [
    {
      ...{ sourceClaim: "data", snapshotName: "member-data", snapshotUID: "uid-member-data" },
      ...{ claimName: "data-again", accessModes: ["ReadWriteOnce"], ...common, ...made },
    },
    {
      ...{ sourceClaim: "wal", snapshotName: "member-wal", snapshotUID: "uid-member-wal" },
      ...{ claimName: "wal-again", accessModes: ["ReadWriteOncePod"], ...common, ...made },
    },
  ]);
});

test("names come from the template, and every member may have its own of everything", () => {
  const other = storageClass({ metadata: { name: "other" } });
  const { members } = status({
    classes: [storageClass(), other],
    restore: groupRestore({
      claimNameTemplate: "{{groupSnapshot}}.{{restore}}-{{claim}}",
      defaults: { storageClassName: "other", labels: { a: "1" } },
      members: [
        { claim: "wal", name: "log", size: "2Gi", storageClassName: "fast", accessModes: ["ReadOnlyMany"] },
      ],
    }),
  });
  assert.deepEqual(
    members?.map((m) => [m.claimName, m.storageClassName, m.size, m.accessModes[0]]),
    [
      ["g.again-data", "other", "1Gi", "ReadWriteOnce"],
      ["log", "fast", "2Gi", "ReadOnlyMany"],
    ],
  );
});

test("a claim asks for its snapshot, is marked as the restore's, and has no owner that could take it along", () => {
  const restore = planned({
    defaults: { labels: { a: "1" } },
    members: [{ claim: "data", labels: { b: "2" } }],
  });
  const step = decideGroupRestore(view({ restore }));
  assert.equal(step.do, "create-claims");
  const { claims } = step as { claims: PersistentVolumeClaim[] };
  assert.deepEqual(
    claims.map((each) => each.metadata.name),
    ["data-again", "wal-again"],
    "all at once",
  );
  const { metadata, spec } = claims[0] as PersistentVolumeClaim;
  assert.equal(metadata.ownerReferences, undefined);
  assert.deepEqual(metadata.labels, { a: "1", b: "2", [RESTORE_LABEL]: "again" });
  assert.deepEqual(metadata.annotations, { [RESTORE_UID]: "uid-again" });
  assert.deepEqual(spec?.dataSource, {
    ...{ apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "member-data" },
  });
});

test("what keeps a restore from beginning is reported, and nothing is made", () => {
  const waiting = (changes: Partial<GroupRestoreView>) => {
    const { phase, message } = status(changes);
    return `${phase}: ${message}`;
  };
  assert.match(
    waiting({ groupSnapshot: groupSnapshot({ readyToUse: false }) }),
    /^Waiting: .*g is not ready/,
  );
  const broken = groupSnapshot({ error: { message: "the barrier was not reached" } });
  assert.match(waiting({ groupSnapshot: broken }), /^Waiting: .*the barrier was not reached/);
  const late = member("wal");
  late.snapshot.status = { ...late.snapshot.status, readyToUse: false };
  assert.match(
    waiting({ members: [member("data"), late] }),
    /^Waiting: VolumeSnapshot member-wal is not ready/,
  );

  failsWith("GroupSnapshotMissing", /g does not exist/, { groupSnapshot: undefined, content: undefined });
  failsWith("GroupSnapshotContentMissing", /groupcontent/, { content: undefined });
  failsWith("MemberMissing", /1 of 2 .*handle-wal/, { members: [member("data")] });
  failsWith("MemberMissing", /2 of 2/, { members: CLAIMS.map((name) => member(name, "an older group")) });
  failsWith("UnknownMember", /names logs, .*data, wal/, {
    restore: groupRestore({ members: [{ claim: "logs" }] }),
  });
});

test("claims that could not be made or filled are found before the first one is made", () => {
  const with1 = (spec: Partial<VolumeGroupRestore["spec"]>) => ({ restore: groupRestore(spec) });
  failsWith(
    "SizeTooSmall",
    /data: size 512Mi is less than 1Gi.*; wal: size/,
    with1({ defaults: { size: "512Mi" } }),
  );
  failsWith(
    "StorageClassMissing",
    /data: StorageClass nope does not exist/,
    with1({ defaults: { storageClassName: "nope" } }),
  );
  const foreign: StorageClass = storageClass({
    metadata: { name: "theirs" },
    provisioner: "other.example.com",
  });
  failsWith("StorageClassMismatch", /theirs is for other.example.com/, {
    classes: [storageClass(), foreign],
    ...with1({ members: [{ claim: "wal", storageClassName: "theirs" }] }),
  });
  failsWith(
    "VolumeModeMismatch",
    /data: volumeMode Block, but the snapshot is of a volume in mode Filesystem: that needs the annotation/,
    with1({ members: [{ claim: "data", volumeMode: "Block" }] }),
  );
  failsWith("ClaimNameTaken", /claim wal-again exists and is not of this restore/, {
    claims: named(claim("data"), claim("wal"), claim("wal-again")),
  });
  failsWith(
    "ClaimNameTaken",
    /data and wal would both become one/,
    with1({ members: CLAIMS.map((name) => ({ claim: name, name: "one" })) }),
  );
  failsWith(
    "ClaimNameTaken",
    /characters, more than 253/,
    with1({ claimNameTemplate: `{{claim}}${"x".repeat(250)}` }),
  );
  failsWith("ClaimNameTaken", /claim data exists/, with1({ claimNameTemplate: "{{claim}}" }));
});

test("the volume mode is the snapshot's; one that was brought in has none, and takes the one that is asked for", () => {
  const restore = groupRestore({ defaults: { volumeMode: "Block" } });
  const [data, wal] = CLAIMS.map((name) => member(name));
  assert.ok(data?.content && wal?.content);
  data.content.metadata.annotations = {
    ...data.content.metadata.annotations,
    "snapshot.storage.kubernetes.io/allow-volume-mode-change": "true",
  };
  const { sourceVolumeMode: _, ...spec } = wal.content.spec;
  wal.content.spec = spec;
  const members = [data, wal];
  const modes = (changes: Partial<GroupRestoreView>) =>
    status({ members, ...changes }).members?.map(({ volumeMode }) => volumeMode);
  assert.deepEqual(modes({}), ["Filesystem", "Filesystem"]);
  assert.deepEqual(modes({ restore }), ["Block", "Block"]);
});

test("a source claim that is gone is replaced by the default class; without one the restore reports it", () => {
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  const standard = storageClass({ metadata: { name: "standard", annotations } });
  const { members } = status({ claims: new Map(), classes: [storageClass(), standard] });
  assert.deepEqual(
    members?.map(({ storageClassName, accessModes }) => [storageClassName, accessModes[0]]),
    [
      ["standard", "ReadWriteOnce"],
      ["standard", "ReadWriteOnce"],
    ],
  );
  failsWith("StorageClassMissing", /the source claim is gone/, { claims: new Map() });
});

const ours = (name: string, phase: string, spec: object = {}): PersistentVolumeClaim =>
  claim(name, spec, { annotations: { [RESTORE_UID]: "uid-again" } }, { phase });

test("claims that are bound, or wait for the Pod that uses them, make it complete; bound ones make it ready", () => {
  const late = storageClass({ metadata: { name: "late" }, volumeBindingMode: "WaitForFirstConsumer" });
  const classes = [storageClass(), late];
  const restore = planned();
  const seen = (...claims: PersistentVolumeClaim[]) => {
    const { phase, conditions, claims: counts } = status({ restore, classes, claims: named(...claims) });
    const types = conditions?.filter((each) => each.status === "True").map((each) => each.type);
    return [phase, types?.join(), counts?.created, counts?.bound];
  };
  const bound = ours("data-again", "Bound", { volumeName: "pv" });
  assert.deepEqual(seen(bound, ours("wal-again", "Pending")), ["Restoring", "", 2, 1]);
  assert.deepEqual(seen(bound, ours("wal-again", "Pending", { storageClassName: "late" })), [
    ...["Complete", "Complete", 2, 1],
  ]);
  assert.deepEqual(seen(bound, ours("wal-again", "Bound")), ["Ready", "Complete,Ready", 2, 2]);
  assert.deepEqual(seen(bound, ours("wal-again", "Lost")), ["Failed", "Failed", 1, 1]);
  assert.deepEqual(seen(bound, claim("wal-again")), ["Failed", "Failed", 1, 1]);
});

test("after it was complete no claim is made again, whatever users delete", () => {
  const late = storageClass({ volumeBindingMode: "WaitForFirstConsumer" });
  const restore = planned();
  const both = named(ours("data-again", "Pending"), ours("wal-again", "Pending"));
  const complete = { ...restore, status: status({ restore, classes: [late], claims: both }) };
  const after = status({ restore: complete, classes: [late], claims: named(ours("data-again", "Bound")) });
  assert.deepEqual(
    after.members?.map(({ phase }) => phase),
    ["Bound", "Deleted"],
  );
  assert.equal(condition(after, "Complete")?.status, "True");
  assert.equal(condition(after, "Ready")?.status, "False");
});

test("a snapshot that went away in between, and a claim that the cluster refuses, fail their member only", () => {
  const restore = planned();
  const data = ours("data-again", "Bound");
  const without = status({ restore, members: [member("data")], claims: named(data) });
  assert.match(without.message, /^wal-again: VolumeSnapshot member-wal does not exist any more$/);
  const refused = new Map([["wal-again", "exceeded quota: small"]]);
  const waiting = status({ restore, refused, backoffMs: 10, claims: named(data) });
  assert.match(waiting.message, /^wal-again: exceeded quota: small$/);
  const reported = { ...restore, status: waiting };
  assert.deepEqual(
    decideGroupRestore(view({ restore: reported, refused, backoffMs: 10, claims: named(data) })),
    { do: "wait", afterMs: 10 },
  );
  assert.equal(
    decideGroupRestore(view({ restore: reported, refused, claims: named(data) })).do,
    "create-claims",
  );
});

test("restores of another driver's group, and those being deleted, are left alone", () => {
  const content = groupContent(CLAIMS);
  content.spec.driver = "other.example.com";
  assert.equal(decideGroupRestore(view({ content })).do, "done");
  const leaving = groupRestore();
  leaving.metadata.deletionTimestamp = NOW;
  assert.equal(decideGroupRestore(view({ restore: leaving })).do, "done");
});
