import assert from "node:assert/strict";
import { test } from "node:test";
import type { CSINode, KubeVolumeAttachment, Node, PersistentVolume } from "@mooring/store";
import { ATTACHED_NODE_ID, attacherFinalizer, NODE_IDS } from "../common/names.ts";
import { csiNode, DRIVER, driverInfo, node, persistentVolume } from "../testing/objects.ts";
import { type AttachView, attachRequestKey, decideAttach } from "./decide.ts";

/** What external-attacher tests (TestCSIHandler, TestTrivialHandler, TestShouldEnqueueVAChange), as views and steps. */
const FINALIZER = attacherFinalizer(DRIVER);
const deletionTimestamp = "2026-01-01T00:00:00Z";
const driver = driverInfo(["PUBLISH_UNPUBLISH_VOLUME", "PUBLISH_READONLY"]);
const published = { handle: "handle-pv", nodeId: "id-n1" };
const REF = { name: "key", namespace: "default" };

type Csi = NonNullable<NonNullable<PersistentVolume["spec"]>["csi"]>;
const CSI = { driver: DRIVER, volumeHandle: "handle-pv" };
const volumeOf = (csi: Partial<Csi> = {}, metadata: PersistentVolume["metadata"] | object = {}) =>
  persistentVolume("pv", { csi: { ...CSI, ...csi } }, { finalizers: [FINALIZER], ...metadata });

interface Given {
  metadata?: Partial<KubeVolumeAttachment["metadata"]>;
  spec?: Partial<KubeVolumeAttachment["spec"]>;
  status?: KubeVolumeAttachment["status"];
}
function attachmentOf({ metadata = {}, spec = {}, status }: Given = {}): KubeVolumeAttachment {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name: "a", uid: "uid-a", ...metadata },
    spec: { attacher: DRIVER, nodeName: "n1", source: { persistentVolumeName: "pv" }, ...spec },
    ...(status && { status }),
  };
}
/** The volume's specification is in the attachment itself. */
const inLine = (csi: Partial<Csi> = {}) => ({
  source: { inlineVolumeSpec: { accessModes: ["ReadWriteOnce"], csi: { ...CSI, ...csi } } },
});

function viewOf(changes: Partial<AttachView>): AttachView {
  return {
    ...{ driver, attachment: attachmentOf(), volume: volumeOf(), csiNode: csiNode("n1"), node: undefined },
    ...{ recorded: undefined, result: undefined, verify: false, defaultFsType: "", backoffMs: 0 },
    ...changes,
  };
}
const NOTED = { attachment: attachmentOf({ metadata: { finalizers: [FINALIZER] } }), recorded: published };
const protectedIn = (spec: object): Partial<AttachView> => ({
  attachment: attachmentOf({ metadata: { finalizers: [FINALIZER] }, spec }),
  ...{ recorded: published, volume: undefined },
});
const publish = (changes: object = {}) => ({
  do: "publish",
  arguments: {
    ...{ ...published, readonly: false, attributes: {} },
    capability: { mode: "SINGLE_NODE_WRITER", mount: { fsType: "", mountFlags: [] } },
    ...changes,
  },
});
const reports = (phase: "attach" | "detach", message: string) => ({ do: "report", phase, message });
const DONE = { do: "done" };
const NEITHER_NOR = "exactly one of inlineVolumeSpec and persistentVolumeName must be set in the source";
const NOWHERE = "CSINode n1 does not contain driver test.csi.example.com";
const otherDriver: CSINode = { ...csiNode("n1"), spec: { drivers: [{ name: "x", nodeID: "x" }] } };
const annotated: Node = {
  ...node("n1"),
  metadata: { name: "n1", annotations: { [NODE_IDS]: JSON.stringify({ [DRIVER]: "id-n1" }) } },
};
const bare = volumeOf({}, { finalizers: [] });

type Row = readonly [title: string, changes: Partial<AttachView>, step: object];

const ATTACH: readonly Row[] = [
  ["a new one notes first what detaches it", {}, { do: "protect", published }],
  ["with the finalizer of its volume", { volume: bare }, { do: "protect", volume: bare, published }],
  ["the volume lacks it alone", { ...NOTED, volume: bare }, { do: "protect", volume: bare }],
  [
    "a specification in it has no volume to protect",
    { attachment: attachmentOf({ spec: inLine() }), volume: undefined },
    { do: "protect", published },
  ],
  ["what is protected is published", NOTED, publish()],
  ["also where the specification is in it", protectedIn(inLine()), publish()],
  ["read-only", { ...NOTED, volume: volumeOf({ readOnly: true }) }, publish({ readonly: true })],
  [
    "read-only, with the specification in it",
    protectedIn(inLine({ readOnly: true })),
    publish({ readonly: true }),
  ],
  [
    "read-only, by a driver that does not know it",
    {
      ...{ ...NOTED, volume: volumeOf({ readOnly: true }) },
      driver: driverInfo(["PUBLISH_UNPUBLISH_VOLUME"]),
    },
    publish(),
  ],
  [
    "with attributes",
    { ...NOTED, volume: volumeOf({ volumeAttributes: { a: "b" } }) },
    publish({ attributes: { a: "b" } }),
  ],
  [
    "with attributes of a specification in it",
    protectedIn(inLine({ volumeAttributes: { a: "b" } })),
    publish({ attributes: { a: "b" } }),
  ],
  [
    "with a secret",
    { ...NOTED, volume: volumeOf({ controllerPublishSecretRef: REF }) },
    publish({ secret: REF }),
  ],
  [
    "with the secret of a specification in it",
    protectedIn(inLine({ controllerPublishSecretRef: REF })),
    publish({ secret: REF }),
  ],
  [
    "with the file system that is the default",
    { ...NOTED, defaultFsType: "ext4" },
    publish({ capability: { mode: "SINGLE_NODE_WRITER", mount: { fsType: "ext4", mountFlags: [] } } }),
  ],
  [
    "what the driver returned is written down",
    { ...NOTED, result: { kind: "published", context: { lun: "3" } } },
    { do: "mark-attached", context: { lun: "3" } },
  ],
  ["what is attached is done", { ...NOTED, attachment: attachmentOf({ status: { attached: true } }) }, DONE],
  [
    "what is attached and not published is published again",
    {
      ...{ verify: true, recorded: published },
      attachment: attachmentOf({ metadata: { finalizers: [FINALIZER] }, status: { attached: true } }),
    },
    publish(),
  ],
  [
    "a volume under deletion is not attached",
    { volume: volumeOf({}, { deletionTimestamp }) },
    reports("attach", 'PersistentVolume "pv" is marked for deletion'),
  ],
  ["another driver's is left alone", { attachment: attachmentOf({ spec: { attacher: "x" } }) }, DONE],
  [
    "a volume that is not there",
    { volume: undefined },
    reports("attach", 'PersistentVolume "pv" does not exist'),
  ],
  [
    "neither a volume nor a specification",
    { attachment: attachmentOf({ spec: { source: {} } }), volume: undefined },
    reports("attach", NEITHER_NOR),
  ],
  [
    "both a volume and a specification",
    { attachment: attachmentOf({ spec: { source: { ...inLine().source, persistentVolumeName: "pv" } } }) },
    reports("attach", NEITHER_NOR),
  ],
  ["a node that is not there", { csiNode: undefined }, reports("attach", NOWHERE)],
  ["a node without a CSINode", { csiNode: undefined, node: node("n1") }, reports("attach", NOWHERE)],
  ["a CSINode without the driver", { csiNode: otherDriver }, reports("attach", NOWHERE)],
  ["a node that only its annotation knows", { ...NOTED, csiNode: undefined, node: annotated }, publish()],
  ["a failure is repeated after a delay", { ...NOTED, backoffMs: 7 }, { do: "wait", afterMs: 7 }],
];

const leaving = (given: Given = {}) =>
  attachmentOf({
    ...given,
    metadata: { deletionTimestamp, finalizers: [FINALIZER], ...given.metadata },
    status: { attached: true },
  });
const unpublish = (changes: object = {}) => ({ do: "unpublish", published: { ...published, ...changes } });
const NOTHING_KNOWN = "neither the volume's object nor a record identifies what to detach";

const DETACH: readonly Row[] = [
  ["it is unpublished", { attachment: leaving() }, unpublish()],
  [
    "with the specification in it",
    { attachment: leaving({ spec: inLine() }), volume: undefined },
    unpublish(),
  ],
  [
    "with a secret",
    { attachment: leaving(), volume: volumeOf({ controllerPublishSecretRef: REF }) },
    unpublish({ secret: REF }),
  ],
  [
    "with the secret of a specification in it",
    { attachment: leaving({ spec: inLine({ controllerPublishSecretRef: REF }) }), volume: undefined },
    unpublish({ secret: REF }),
  ],
  [
    "what is unpublished is released",
    { attachment: leaving(), result: { kind: "unpublished" } },
    { do: "release-attachment" },
  ],
  [
    "what others keep is marked first",
    { attachment: leaving({ metadata: { finalizers: [FINALIZER, "x"] } }), result: { kind: "unpublished" } },
    { do: "mark-detached" },
  ],
  ["what has no finalizer of ours is done", { attachment: leaving({ metadata: { finalizers: [] } }) }, DONE],
  [
    "a failure is repeated after a delay",
    { attachment: leaving(), backoffMs: 7 },
    { do: "wait", afterMs: 7 },
  ],
  [
    "a volume that is gone is unpublished as it was noted",
    { attachment: leaving(), volume: undefined, recorded: { ...published, secret: REF } },
    unpublish({ secret: REF }),
  ],
  [
    "a volume that is gone, and nothing noted",
    { attachment: leaving(), volume: undefined },
    reports("detach", NOTHING_KNOWN),
  ],
  [
    "neither a volume nor a specification, and nothing noted",
    { attachment: leaving({ spec: { source: {} } }), volume: undefined },
    reports("detach", NOTHING_KNOWN),
  ],
  [
    "a node that is gone, and nothing noted",
    { attachment: leaving(), csiNode: undefined },
    reports("detach", NOTHING_KNOWN),
  ],
  [
    "a node that is gone, as it was noted",
    { attachment: leaving(), csiNode: undefined, recorded: published },
    unpublish(),
  ],
  [
    "a node that is gone is named by the attachment",
    {
      attachment: leaving({ metadata: { annotations: { [ATTACHED_NODE_ID]: "id-n1" } } }),
      csiNode: undefined,
    },
    unpublish(),
  ],
];

const none = driverInfo(["CREATE_DELETE_VOLUME"]);
const WITHOUT: readonly Row[] = [
  ["a new one is attached", { driver: none }, { do: "mark-attached", context: {} }],
  [
    "one that has changed, too",
    { driver: none, attachment: attachmentOf({ metadata: { labels: { a: "b" } } }) },
    { do: "mark-attached", context: {} },
  ],
  [
    "another driver's is left alone",
    { driver: none, attachment: attachmentOf({ spec: { attacher: "x" } }) },
    DONE,
  ],
  [
    "one that is deleted has nothing to wait for",
    { driver: none, attachment: leaving({ metadata: { finalizers: [] } }) },
    DONE,
  ],
];

for (const [title, changes, step] of ATTACH)
  test(`attach: ${title}`, () => assert.deepEqual(decideAttach(viewOf(changes)), step));
for (const [title, changes, step] of DETACH)
  test(`detach: ${title}`, () => assert.deepEqual(decideAttach(viewOf(changes)), step));
for (const [title, changes, step] of WITHOUT)
  test(`a driver that publishes nothing: ${title}`, () =>
    assert.deepEqual(decideAttach(viewOf(changes)), step));

const failed = (message: string) => ({ message, time: "2026-01-01T00:00:00Z" });
const WRITER = {
  ...{ manager: "x", operation: "Update" as const, apiVersion: "v1", fieldsV1: {} },
  fieldsType: "FieldsV1" as const,
};
const KEYS: readonly (readonly [title: string, changes: Partial<AttachView>, ends: boolean])[] = [
  ["the same again", {}, false],
  [
    "an error of attaching",
    { attachment: attachmentOf({ status: { attached: false, attachError: failed("a") } }) },
    false,
  ],
  [
    "an error of detaching",
    { attachment: attachmentOf({ status: { attached: false, detachError: failed("a") } }) },
    false,
  ],
  [
    "other words of an error",
    { attachment: attachmentOf({ status: { attached: false, attachError: failed("b") } }) },
    false,
  ],
  [
    "who has written which field",
    { attachment: attachmentOf({ metadata: { managedFields: [WRITER] } }) },
    false,
  ],
  ["a label of somebody else", { attachment: attachmentOf({ metadata: { labels: { a: "b" } } }) }, false],
  [
    "another volume",
    { attachment: attachmentOf({ spec: { source: { persistentVolumeName: "x" } } }), volume: undefined },
    true,
  ],
  ["another id of the node", { csiNode: csiNode("n1", [], "new") }, true],
  ["other attributes of the volume", { volume: volumeOf({ volumeAttributes: { a: "b" } }) }, true],
  ["its deletion", { attachment: leaving() }, true],
];
for (const [title, changes, ends] of KEYS)
  test(`the delay after a failure is ${ends ? "ended" : "kept"} by ${title}`, () =>
    assert.equal(attachRequestKey(viewOf(changes)) !== attachRequestKey(viewOf({})), ends));
