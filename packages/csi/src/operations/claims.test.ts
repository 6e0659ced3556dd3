import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import * as v1 from "../gen/csi/v1/csi_pb.ts";
import { services } from "../wire/services.ts";
import { claimsOf } from "./claims.ts";

/** What may run beside anything: it only reads. */
const READS = /^(Get|List|Probe$|Validate|ControllerGet|ControllerList|GroupControllerGet|NodeGet)/;

test("every method that changes something locks what it changes, and no other waits", () => {
  for (const method of Object.values(services).flatMap((service) => [...service.methods])) {
    const claims = claimsOf({ method, request: create(method.input) });
    assert.equal(claims.length === 0, READS.test(method.name), method.name);
  }
});

test("a volume's source may be read by many, and is not deleted meanwhile", () => {
  const method = v1.Controller.method.createVolume;
  const type = { case: "volume" as const, value: { volumeId: "source" } };
  const request = create(method.input, { name: "copy", volumeContentSource: { type } });
  assert.deepEqual(claimsOf({ method, request }), [
    { key: "volume name copy", mode: "exclusive" },
    { key: "volume source", mode: "shared" },
  ]);
});
