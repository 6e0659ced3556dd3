import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, CsiError, NOTHING_MADE } from "@mooring/csi";
import { callFailure, isCreateVolumeUncertain, isUncertain, provesNoGroupMade } from "./codes.ts";

const uncertain = new Set(["CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE", "ABORTED"]);

for (const [name, code] of Object.entries(Code).filter(([name]) => name !== "OK")) {
  test(`${name} of CreateVolume is ${uncertain.has(name) ? "uncertain" : "final"}`, () => {
    const failure = callFailure(Object.assign(new Error("x"), { code }));
    assert.equal(isCreateVolumeUncertain(failure), uncertain.has(name));
    assert.equal(isUncertain(failure), uncertain.has(name) || name === "RESOURCE_EXHAUSTED");
  });
}

test("a failure that did not come from the driver is uncertain", () => {
  assert.ok(isCreateVolumeUncertain(callFailure(new TypeError("socket"))));
  assert.ok(isCreateVolumeUncertain(callFailure(Object.assign(new Error("x"), { code: "ECONNRESET" }))));
});

test("a driver that reports that nothing was made is believed, whatever the code", () => {
  for (const code of [Code.RESOURCE_EXHAUSTED, Code.DEADLINE_EXCEEDED, Code.INTERNAL]) {
    const reported = callFailure(new CsiError(code, "no room", { reason: NOTHING_MADE }));
    assert.equal(isUncertain(reported) || isCreateVolumeUncertain(reported), false);
    assert.ok(provesNoGroupMade(reported, true));
    assert.equal(provesNoGroupMade(callFailure(new CsiError(code, "no room")), true), false);
  }
});
