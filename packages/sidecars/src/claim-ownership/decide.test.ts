import assert from "node:assert/strict";
import { test } from "node:test";
import { DONE, wait } from "@mooring/store";
import { SELECTED_NODE, STORAGE_PROVISIONER } from "../common/names.ts";
import { claim, DRIVER, driverInfo, storageClass } from "../testing/objects.ts";
import { Attempts } from "./attempts.ts";
import { decideOwnership, type OwnershipView } from "./decide.ts";

const request = { bytes: 1n, parameters: {}, places: [{ zone: "a" }] };
const view: OwnershipView = {
  driver: driverInfo(["CREATE_DELETE_VOLUME", "GET_CAPACITY"], { topology: true }),
  here: { node: "n1", nodeId: "id-1", segments: { zone: "a" } },
  claim: claim("data"),
  storageClass: storageClass(),
  isUnderWay: false,
  sourceElsewhere: false,
  request,
  hasRoom: undefined,
  delayMs: 0,
};
const allows = (...values: string[]) =>
  storageClass({ allowedTopologies: [{ matchLabelExpressions: [{ key: "zone", values }] }] });
const chosen = (node: string) =>
  claim("data", {}, { annotations: { [STORAGE_PROVISIONER]: DRIVER, [SELECTED_NODE]: node } });
const take = { do: "select-node" };
const ask = { do: "ask-driver", request };

test("who asks for room, who takes a claim, and who leaves it alone", () => {
  const rows: [string, Partial<OwnershipView>, ReturnType<typeof decideOwnership>][] = [
    ["nobody has it: is there room?", {}, ask as never],
    ["there is room", { hasRoom: true }, take as never],
    ["there is none: its time comes again", { hasRoom: false, delayMs: 7 }, wait(7)],
    ["its time has not come", { delayMs: 5, request: undefined }, wait(5)],
    ["a driver that cannot say", { driver: driverInfo(["CREATE_DELETE_VOLUME"]) }, take as never],
    ["it cannot be asked for: whoever takes it says why", { request: undefined }, take as never],
    ["another node has it", { claim: chosen("n2") }, DONE],
    ["this node has it: that is the provisioner's", { claim: chosen("n1") }, DONE],
    [
      "it waits for its pod",
      { storageClass: storageClass({ volumeBindingMode: "WaitForFirstConsumer" }) },
      DONE,
    ],
    ["a class of another driver", { storageClass: storageClass({ provisioner: "other" }) }, DONE],
    ["it has a volume", { claim: claim("data", { volumeName: "pv" }) }, DONE],
    ["somebody has been asked for it", { isUnderWay: true }, DONE],
    ["its source is another node's", { sourceElsewhere: true }, DONE],
    ["the class allows other places only", { storageClass: allows("b", "c") }, DONE],
    ["the class allows this place", { storageClass: allows("b", "a") }, ask as never],
    ["it is gone", { claim: undefined }, DONE],
  ];
  for (const [what, change, step] of rows)
    assert.deepEqual(decideOwnership({ ...view, ...change }), step, what);
});

test("a node holds back longer after each attempt that failed, up to a limit, and never as long as another", () => {
  let now = 0;
  let random = 0;
  const attempts = new Attempts({ baseMs: 20, maxMs: 60, now: () => now, random: () => random });
  assert.equal(attempts.remaining("a"), 20);
  random = 0.75;
  assert.equal(attempts.remaining("b"), 5);
  assert.equal(attempts.remaining("a"), 20, "its time stands");
  now = 20;
  assert.equal(attempts.remaining("a"), 0);
  attempts.recordRoom("a", true);
  assert.equal(attempts.hasRoom("a"), true);
  assert.equal(attempts.fail("a"), 1);
  assert.equal(attempts.hasRoom("a"), undefined, "asked again the next time");
  assert.equal(attempts.remaining("a"), 40 - 15);
  attempts.fail("a");
  assert.equal(attempts.remaining("a"), 60 - 15);
  attempts.forget("a");
  assert.equal(attempts.remaining("a"), 5);
});
