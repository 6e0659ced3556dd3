import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolumeClaim, VolumeAttributesClass } from "@mooring/store";
import { claim, DRIVER, driverInfo, persistentVolume } from "../testing/objects.ts";
import { decideModify, type ModifyView } from "./decide.ts";

const attributes = (name: string, driverName = DRIVER): VolumeAttributesClass => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "VolumeAttributesClass",
  metadata: { name, uid: `uid-${name}` },
  driverName,
  parameters: { iops: name },
});
type Status = NonNullable<PersistentVolumeClaim["status"]>;

/** `wanted`, in force, and how far a change is: `InProgress gold`. */
function view(wanted: string, current: string, progress = "", changes: Partial<ModifyView> = {}): ModifyView {
  const [status = "", target = ""] = progress.split(" ");
  const state: Status = {
    phase: "Bound",
    ...(current === "" ? {} : { currentVolumeAttributesClassName: current }),
    ...(progress === "" ? {} : { modifyVolumeStatus: { status, targetVolumeAttributesClassName: target } }),
  };
  const spec = { volumeName: "pv", ...(wanted === "" ? {} : { volumeAttributesClassName: wanted }) };
  return {
    driver: driverInfo(["MODIFY_VOLUME"]),
    claim: claim("data", spec, {}, state),
    volume: persistentVolume("pv", {
      claimRef: { name: "data", namespace: "default", uid: "uid-data" },
      ...(current === "" ? {} : { volumeAttributesClassName: current }),
    }),
    attributesClass: attributes(status === "InProgress" ? target : wanted),
    result: undefined,
    backoffMs: 0,
    ...changes,
  };
}
const of = (changed: ModifyView) => {
  const step = decideModify(changed);
  return "target" in step ? `${step.do} ${step.target}` : step.do;
};
const result = (kind: "modified" | "refused", target: string) => ({ result: { kind, target } }) as const;

const CASES: [string, ModifyView, string][] = [
  ["nothing is wished", view("", ""), "done"],
  ["all is as wished", view("gold", "gold"), "done"],
  ["a wish", view("gold", ""), "announce gold"],
  ["another wish", view("gold", "silver"), "announce gold"],
  ["announced", view("gold", "silver", "InProgress gold"), "modify gold"],
  ["modified", view("gold", "silver", "InProgress gold", result("modified", "gold")), "write-volume gold"],
  ["the class is missing", view("gold", "", "", { attributesClass: undefined }), "report gold"],
  ["it has come", view("gold", "", "Pending gold"), "announce gold"],
  [
    "another driver's class",
    view("gold", "", "", { attributesClass: attributes("gold", "x") }),
    "report gold",
  ],
  ["a back-off", view("gold", "", "InProgress gold", { backoffMs: 5 }), "wait"],
  ["infeasible, and its back-off is over", view("gold", "silver", "Infeasible gold"), "announce gold"],
  ["infeasible, and back to what is in force", view("silver", "silver", "Infeasible gold"), "cancel gold"],
  ["pending, and not wished any more", view("", "", "Pending gold"), "cancel gold"],
  ["infeasible, and another wish", view("iron", "silver", "Infeasible gold"), "announce iron"],
  [
    "what may have been made is finished before a newer wish",
    view("iron", "silver", "InProgress gold"),
    "modify gold",
  ],
  ["also when the wish is what was in force", view("silver", "silver", "InProgress gold"), "modify gold"],
  [
    "a clear refusal ends it",
    view("iron", "silver", "InProgress gold", {
      ...result("refused", "gold"),
      attributesClass: attributes("iron"),
    }),
    "announce iron",
  ],
  [
    "refused, and wished again",
    view("gold", "silver", "InProgress gold", result("refused", "gold")),
    "modify gold",
  ],
  ["what may have been made, and nothing is wished", view("", "", "InProgress gold"), "modify gold"],
  ["the claim is gone", view("gold", "silver", "", { claim: undefined }), "done"],
  ["its volume is not there yet", view("gold", "silver", "", { volume: undefined }), "done"],
  [
    "its volume is of no driver",
    view("gold", "silver", "", { volume: persistentVolume("pv", { csi: undefined } as object) }),
    "done",
  ],
  [
    "refused, and back",
    view("silver", "silver", "InProgress gold", result("refused", "gold")),
    "cancel gold",
  ],
];
for (const [what, given, expected] of CASES) test(`modify: ${what}`, () => assert.equal(of(given), expected));

test("a volume that was made with its class has it, without a call", () => {
  const made = view("gold", "gold");
  const fresh = { ...made, claim: claim("data", made.claim?.spec ?? {}, {}, { phase: "Bound" }) };
  assert.equal(of(fresh), "finish gold");
});

test("what may have been made stays in progress when its class is taken away", () => {
  const step = decideModify(view("gold", "", "InProgress gold", { attributesClass: undefined }));
  assert.equal(step.do === "report" && step.status, "InProgress");
});

test("other users' volumes, unbound claims and foreign objects of the same name are left alone", () => {
  const mine = view("gold", "");
  const spec = mine.volume?.spec ?? {};
  const ref = { name: "data", namespace: "default", uid: "uid-data" };
  for (const volume of [
    persistentVolume("pv", { ...spec, csi: { driver: "x", volumeHandle: "h" }, claimRef: ref }),
    persistentVolume("pv", { ...spec, claimRef: { ...ref, uid: "older" } }),
    undefined,
  ])
    assert.equal(of({ ...mine, volume }), "done");
  assert.equal(
    of({ ...mine, claim: claim("data", mine.claim?.spec ?? {}, {}, { phase: "Pending" }) }),
    "done",
  );
});
