import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolumeClaim } from "@mooring/store";
import { withCondition } from "../common/conditions.ts";
import { PRE_RESIZE_CAPACITY } from "../common/names.ts";
import { claim, DRIVER, driverInfo, persistentVolume } from "../testing/objects.ts";
import { decideResize, type ResizeResult, type ResizeView, resizeRequestKey } from "./decide.ts";
import { resizeStatus } from "./status.ts";

/** What external-resizer tests (TestController, TestExpandAndRecover, TestResizeFunctions), as views and steps. */
const Gi = 1024n ** 3n;
const GiB = (size: number) => BigInt(size) * Gi;
const driver = driverInfo(["EXPAND_VOLUME"]);
const claimRef = { name: "data", namespace: "default", uid: "uid-data" };

interface Given extends Partial<ResizeView> {
  /** In GiB: requested, granted, of the volume, allocated. */
  sizes?: readonly [requested: number, granted: number, volume: number, allocated?: number];
  status?: string;
  /** The volume notes the size from before. */
  prepared?: boolean;
  /** Of the volume. */
  spec?: object;
  phase?: string;
}
function viewOf({
  sizes = [2, 1, 1],
  status,
  prepared,
  spec = {},
  phase = "Bound",
  ...view
}: Given): ResizeView {
  const [requested, granted, volume, allocated] = sizes.map((size) => ({ storage: `${size}Gi` }));
  const state: PersistentVolumeClaim["status"] = {
    ...{ phase: "Bound", capacity: granted ?? {} },
    ...(allocated && { allocatedResources: allocated }),
    ...(status !== undefined && { allocatedResourceStatuses: { storage: status } }),
  };
  const annotations = prepared ? { [PRE_RESIZE_CAPACITY]: "1Gi" } : {};
  return {
    ...{ driver, attachedTo: [], result: undefined, backoffMs: 0 },
    claim: claim("data", { volumeName: "pv", resources: { requests: requested ?? {} } }, {}, state),
    volume: persistentVolume("pv", { claimRef, capacity: volume ?? {}, ...spec }, { annotations }, { phase }),
    ...view,
  };
}

const RUNNING = "ControllerResizeInProgress";
const mounted = { mode: "SINGLE_NODE_WRITER", mount: { fsType: "", mountFlags: [] } };
const announce = (size: number) => ({ do: "announce", target: GiB(size) });
const expand = (size: number, capability: object = mounted) => ({
  ...{ do: "expand", target: GiB(size) },
  arguments: { handle: "handle-pv", bytes: GiB(size), capability },
});
const expanded = (size: number, nodeExpansion = false): Pick<ResizeView, "result"> => ({
  result: { kind: "expanded", target: GiB(size), bytes: GiB(size), nodeExpansion },
});
const refused = (size: number): { result: ResizeResult } => ({
  result: { kind: "refused", target: GiB(size) },
});
const DONE = { do: "done" };
const byNodes = driverInfo([], { nodeExpansion: true });
const offline = driverInfo(["EXPAND_VOLUME"], { expansion: "offline" });

const SECRET = { name: "key", namespace: "infra" };
const CSI = { driver: DRIVER, volumeHandle: "handle-pv" };

type Row = readonly [title: string, of: Given, step: object];
const ROWS: readonly Row[] = [
  ["a claim that is gone", { claim: undefined }, DONE],
  ["it has the size that it asks for", { sizes: [1, 1, 1] }, DONE],
  ["its volume is not there", { volume: undefined }, DONE],
  ["its volume is another claim's", { spec: { claimRef: { ...claimRef, uid: "x" } } }, DONE],
  ["its volume is nobody's", { spec: { claimRef: undefined } }, DONE],
  ["its volume is not bound", { phase: "Released" }, DONE],
  ["its volume is another driver's", { spec: { csi: { driver: "x", volumeHandle: "h" } } }, DONE],
  ["it is announced", {}, announce(2)],
  ["the driver is asked", { sizes: [2, 1, 1, 2], status: RUNNING }, expand(2)],
  [
    "with the mode of a block device",
    { sizes: [2, 1, 1, 2], status: RUNNING, spec: { volumeMode: "Block" } },
    expand(2, { mode: "SINGLE_NODE_WRITER" }),
  ],
  [
    "with the secret of the volume",
    { sizes: [2, 1, 1, 2], status: RUNNING, spec: { csi: { ...CSI, controllerExpandSecretRef: SECRET } } },
    { ...expand(2), arguments: { ...expand(2).arguments, secret: SECRET } },
  ],
  [
    "the volume's object gets the size",
    { sizes: [2, 1, 1, 2], status: RUNNING, ...expanded(2) },
    { do: "write-volume", bytes: GiB(2), nodeExpansion: false },
  ],
  [
    "and the claim, without a part for a node",
    { sizes: [2, 1, 2, 2], status: RUNNING },
    { do: "finish", bytes: GiB(2) },
  ],
  [
    "a node has a part in it",
    { sizes: [2, 1, 1, 2], status: RUNNING, ...expanded(2, true) },
    { do: "write-volume", bytes: GiB(2), nodeExpansion: true },
  ],
  ["which is next", { sizes: [2, 1, 2, 2], status: RUNNING, prepared: true }, { do: "hand-to-node" }],
  ["the node has done it", { sizes: [2, 2, 2, 2], prepared: true }, { do: "forget-pre-resize" }],
  [
    "a driver for volumes that are attached nowhere waits",
    { sizes: [2, 1, 1, 2], status: RUNNING, driver: offline, attachedTo: ["n1"] },
    {
      ...{ do: "report" },
      message: "the volume is attached to n1 and can only be expanded while it is not",
    },
  ],
  [
    "a driver for volumes that are attached is asked",
    { sizes: [2, 1, 1, 2], status: RUNNING, attachedTo: ["n1"] },
    expand(2),
  ],
  [
    "a volume that is not attached any more",
    { sizes: [2, 1, 1, 2], status: RUNNING, driver: offline },
    expand(2),
  ],
  [
    "a failure is repeated after a delay",
    { sizes: [2, 1, 1, 2], status: RUNNING, backoffMs: 7 },
    { do: "wait", afterMs: 7 },
  ],
  [
    "an infeasible size is left for what is wished now",
    { sizes: [5, 3, 3, 10], status: "ControllerResizeInfeasible" },
    announce(5),
  ],
  [
    "a size that was refused for certain, too",
    { sizes: [5, 3, 3, 10], status: RUNNING, ...refused(10) },
    announce(5),
  ],
  [
    "an infeasible size is left for what there is",
    { sizes: [3, 3, 3, 10], status: "ControllerResizeInfeasible" },
    { do: "withdraw", allocated: GiB(3) },
  ],
  [
    "a size that was refused for certain is left for what there is",
    { sizes: [3, 3, 3, 10], status: RUNNING, ...refused(10) },
    { do: "withdraw", allocated: GiB(3) },
  ],
  [
    "what may have been done is done, also when nobody wants it any more",
    { sizes: [3, 3, 3, 10], status: RUNNING },
    expand(10),
  ],
  [
    "what was refused and another sidecar has done is handed on",
    { sizes: [3, 3, 10, 10], status: RUNNING, ...refused(10) },
    { do: "finish", bytes: GiB(10) },
  ],
  ["what may have been done is done first", { sizes: [5, 3, 3, 10], status: RUNNING }, expand(10)],
  [
    "a node could not, and does all of it",
    { sizes: [5, 3, 10, 10], status: "NodeResizeInfeasible", driver: byNodes, prepared: true },
    { do: "hand-to-node", allocated: GiB(5) },
  ],
  [
    "a node could not",
    { sizes: [2, 1, 2, 2], status: "NodeResizeInfeasible", prepared: true },
    { do: "hand-to-node", allocated: GiB(2) },
  ],
  [
    "a node could not, and nothing notes the size from before",
    { sizes: [2, 1, 2, 2], status: "NodeResizeInfeasible" },
    { do: "hand-to-node", allocated: GiB(2) },
  ],
  [
    "a node could not, and the volume never was larger",
    { sizes: [5, 1, 1, 3], status: "NodeResizeInfeasible" },
    announce(3),
  ],
  ["a node is to do it", { sizes: [10, 1, 3, 3], status: "NodeResizePending" }, DONE],
  ["a node is at it", { sizes: [10, 1, 3, 3], status: "NodeResizeInProgress" }, DONE],
  ["a node is to do what is granted already", { sizes: [1, 1, 1, 1], status: "NodeResizePending" }, DONE],
  [
    "nodes do all of it",
    { driver: byNodes, sizes: [2, 1, 1, 2], status: RUNNING },
    { do: "assume-expanded", target: GiB(2) },
  ],
];
for (const [title, of, step] of ROWS)
  test(`a volume grows: ${title}`, () => assert.deepEqual(decideResize(viewOf(of)), step));

const KEYS: readonly (readonly [title: string, of: Given, ends: boolean])[] = [
  ["nothing", {}, false],
  ["another node that has it", { attachedTo: ["n2"] }, false],
  ["its last detachment", { attachedTo: [] }, true],
  ["another wish", { sizes: [3, 1, 1] }, true],
];
for (const [title, of, ends] of KEYS)
  test(`the delay after a volume was in use is ${ends ? "ended" : "kept"} by ${title}`, () => {
    const key = (given: Given) => resizeRequestKey(viewOf({ attachedTo: ["n1"], ...given }));
    assert.equal(key(of) !== key({}), ends);
  });

const [OLD, NOW] = ["2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z"];
const at = (type: string, time: string, message = "") => ({
  ...{ type, message, status: "True" as const, lastTransitionTime: time, lastProbeTime: time },
});
const withConditions = (...conditions: ReturnType<typeof at>[]) =>
  claim("data", {}, {}, { phase: "Bound", conditions });

const STATUSES: readonly (readonly [
  title: string,
  change: Parameters<typeof resizeStatus>[1],
  status: object,
])[] = [
  [
    "a node is next",
    { condition: { type: "FileSystemResizePending", message: "" }, status: "NodeResizePending" },
    {
      conditions: [at("FileSystemResizePending", NOW)],
      allocatedResourceStatuses: { storage: "NodeResizePending" },
    },
  ],
  [
    "under way",
    { condition: { type: "Resizing", message: "" }, status: RUNNING, allocated: GiB(10) },
    {
      ...{ conditions: [at("Resizing", NOW)], allocatedResourceStatuses: { storage: RUNNING } },
      allocatedResources: { storage: "10Gi" },
    },
  ],
  [
    "infeasible",
    { condition: { type: "ControllerResizeError", message: "no" }, status: "ControllerResizeInfeasible" },
    {
      conditions: [at("ControllerResizeError", NOW, "no")],
      allocatedResourceStatuses: { storage: "ControllerResizeInfeasible" },
    },
  ],
  // A merge patch: statuses of other resources stay.
  [
    "over",
    { capacity: GiB(10) },
    { conditions: [], allocatedResourceStatuses: { storage: null }, capacity: { storage: "10Gi" } },
  ],
];
for (const [title, change, status] of STATUSES)
  test(`the status of a growing claim: ${title}`, () =>
    assert.deepEqual(resizeStatus(withConditions(at("Resizing", OLD, "x")), change, NOW), status));

const OURS = new Set(["Resizing", "ControllerResizeError"]);
const CONDITIONS: readonly (readonly [
  title: string,
  before: ReturnType<typeof at>[],
  condition: { type: string; message: string } | undefined,
  after: ReturnType<typeof at>[],
])[] = [
  [
    "a new one beside another's",
    [at("Theirs", OLD)],
    { type: "Resizing", message: "" },
    [at("Theirs", OLD), at("Resizing", NOW)],
  ],
  [
    "the same as before keeps its time",
    [at("Theirs", OLD), at("Resizing", OLD)],
    { type: "Resizing", message: "" },
    [at("Theirs", OLD), at("Resizing", OLD)],
  ],
  [
    "other words have a new time",
    [at("Theirs", OLD), at("Resizing", OLD)],
    { type: "Resizing", message: "x" },
    [at("Theirs", OLD), at("Resizing", NOW, "x")],
  ],
  [
    "one instead of another of ours",
    [at("ControllerResizeError", OLD)],
    { type: "Resizing", message: "" },
    [at("Resizing", NOW)],
  ],
  ["none instead of ours", [at("Theirs", OLD), at("Resizing", OLD)], undefined, [at("Theirs", OLD)]],
  ["the first one", [], { type: "Resizing", message: "" }, [at("Resizing", NOW)]],
  ["none at all", [], undefined, []],
];
for (const [title, before, condition, after] of CONDITIONS)
  test(`conditions of a claim: ${title}`, () =>
    assert.deepEqual(withCondition(withConditions(...before), OURS, condition, NOW), after));
