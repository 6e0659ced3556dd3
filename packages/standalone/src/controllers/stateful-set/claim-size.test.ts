import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolumeClaim } from "@mooring/store";
import { CONTROLLER_MANAGER } from "../controller-manager.ts";
import { statefulSet } from "../workloads/testing/workloads-world.ts";
import { sizeClaim } from "./claim-size.ts";
import { claimsOf } from "./identity.ts";

interface Given {
  asks: string;
  has?: string;
  phase?: string;
  /** Who has set what it asks for. */
  managers?: readonly string[];
}

/** The step for a claim of a set whose template asks for 2Gi. */
function sizeFor({ asks, has, phase = "Bound", managers = [CONTROLLER_MANAGER] }: Given): string | undefined {
  const set = statefulSet("db", {
    volumeClaimTemplates: [
      { metadata: { name: "data" }, spec: { resources: { requests: { storage: "2Gi" } } } },
    ],
  });
  const [made] = claimsOf(set, 0);
  assert.ok(made);
  const fieldsV1 = { "f:spec": { "f:resources": { "f:requests": { "f:storage": {} } } } };
  const others = {
    manager: "mooring",
    operation: "Update" as const,
    apiVersion: "v1",
    fieldsType: "FieldsV1" as const,
  };
  const claim: PersistentVolumeClaim = {
    ...made,
    metadata: {
      ...made.metadata,
      managedFields: [
        ...managers.map((manager) => ({ ...others, manager, fieldsV1 })),
        { ...others, fieldsV1: { "f:metadata": {} } },
        { ...others, subresource: "status", fieldsV1: { "f:status": {} } },
      ],
    },
    spec: { ...made.spec, resources: { requests: { storage: asks } } },
    status: { phase, ...(has === undefined ? {} : { capacity: { storage: has } }) },
  };
  const step = sizeClaim(set, { claim, ordinal: 0 });
  if (step === undefined) return undefined;
  assert.ok(step.do === "size-claim");
  return step.storage;
}

for (const [title, given, size] of [
  ["it grows", { asks: "1Gi", has: "1Gi" }, "2Gi"],
  ["it grows, whoever has asked for less", { asks: "1Gi", has: "1Gi", managers: ["kubectl-edit"] }, "2Gi"],
  ["it does not grow before it is bound", { asks: "1Gi", phase: "Pending" }, undefined],
  ["it is as it should be", { asks: "2Gi", has: "1Gi" }, undefined],
  ["it asks for less again", { asks: "3Gi", has: "1Gi" }, "2Gi"],
  ["but not for less than it has", { asks: "4Gi", has: "3Gi" }, "3Gi"],
  ["and has what it asked for", { asks: "3Gi", has: "3Gi" }, undefined],
  ["nobody knows what it has", { asks: "3Gi" }, undefined],
  ["a user has asked for more", { asks: "3Gi", has: "1Gi", managers: ["kubectl-edit"] }, undefined],
  ["a user has, too", { asks: "3Gi", has: "1Gi", managers: [CONTROLLER_MANAGER, "helm"] }, undefined],
  ["nobody knows who has", { asks: "3Gi", has: "1Gi", managers: [] }, undefined],
] as const satisfies readonly (readonly [string, Given, string | undefined])[])
  test(`what a claim asks for by its template: ${title}`, () => assert.equal(sizeFor(given), size));
