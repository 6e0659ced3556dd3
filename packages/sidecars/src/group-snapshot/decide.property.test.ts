import assert from "node:assert/strict";
import { test } from "node:test";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { type GroupAction, GroupModel } from "../testing/group-model.ts";

const action: fc.Arbitrary<GroupAction> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant("step" as const), keep: fc.nat({ max: 3 }) }) },
  { weight: 3, arbitrary: fc.constant<GroupAction>({ do: "driver" }) },
  { weight: 1, arbitrary: fc.constant<GroupAction>({ do: "delete-group" }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("delete-member" as const), index: fc.nat({ max: 1 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("lose-member" as const), index: fc.nat({ max: 1 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restore" as const), index: fc.nat({ max: 1 }) }) },
  { weight: 1, arbitrary: fc.constant<GroupAction>({ do: "retain" }) },
);

test("whatever happens between the steps: a group has all its members in the end, or is gone with them", () => {
  fc.assert(
    fc.property(fc.boolean(), fc.array(action, { maxLength: 60 }), (beginReady, actions) => {
      const model = new GroupModel();
      if (beginReady) model.settle();
      for (const each of actions) {
        model.act(each);
        model.check();
      }
      model.settle();
      model.check();
      model.checkEnd();
    }),
    { numRuns: howMany({ everyday: 1_000, full: 3_000 }) },
  );
});

test("a group that nobody disturbs is ready after a few steps, and gone after a few more", () => {
  const model = new GroupModel();
  model.settle();
  assert.equal(model.group?.status?.readyToUse, true);
  model.act({ do: "delete-group" });
  model.settle();
  assert.equal(model.group, undefined);
  model.checkEnd();
});
