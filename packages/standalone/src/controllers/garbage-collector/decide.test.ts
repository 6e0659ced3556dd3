import assert from "node:assert/strict";
import { test } from "node:test";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { decide, type OwnerState, type View } from "./decide.ts";
import { FOREGROUND, type Identity, isDeletingWith, ORPHAN, ownersOf } from "./identity.ts";

const STATES: OwnerState[] = ["solid", "absent", "waiting", "unresolvable"];

const identity = (name: string, owners: string[]) =>
  fc
    .record({
      deleting: fc.boolean(),
      finalizers: fc.subarray([FOREGROUND, ORPHAN, "example.com/x"]),
      blocks: fc.boolean(),
    })
    .map(
      ({ deleting, finalizers, blocks }): Identity => ({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: {
          name,
          uid: name,
          namespace: "default",
          finalizers,
          ...(deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
          ownerReferences: owners.map((uid) => ({
            apiVersion: "v1",
            kind: "ConfigMap",
            name: uid,
            uid,
            blockOwnerDeletion: blocks,
          })),
        },
      }),
    );

const views: fc.Arbitrary<View> = fc.array(fc.constantFrom(...STATES), { maxLength: 4 }).chain((owners) =>
  fc.record({
    object: identity(
      "object",
      owners.map((_, i) => `owner-${i}`),
    ),
    owners: fc.constant(owners),
    dependents: fc.array(identity("dependent", ["object"]), { maxLength: 3 }),
  }),
);

test("no decision costs an object that has a living owner, no owner, or an owner that cannot be read", () => {
  fc.assert(
    fc.property(views, (view) => {
      const step = decide(view);
      if (step.do !== "delete") return;
      assert.ok(view.owners.length > 0);
      assert.ok(view.owners.every((state) => state === "absent" || state === "waiting"));
      assert.equal(view.object.metadata.deletionTimestamp, undefined);
    }),
    { numRuns: howMany({ everyday: 5_000, deep: 50_000 }) },
  );
});

test("a finalizer goes only when its work is done", () => {
  fc.assert(
    fc.property(views, (view) => {
      const step = decide(view);
      if (step.do !== "remove-finalizer") return;
      assert.ok(isDeletingWith(view.object, step.finalizer));
      if (step.finalizer === ORPHAN) assert.equal(view.dependents.length, 0);
      else
        assert.ok(!view.dependents.some((d) => ownersOf(d).some((ref) => ref.blockOwnerDeletion === true)));
    }),
    { numRuns: howMany({ everyday: 5_000, deep: 50_000 }) },
  );
});

test("dropped references are those of owners that are gone or going, and never all of them", () => {
  fc.assert(
    fc.property(views, (view) => {
      const step = decide(view);
      if (step.do !== "drop-references") return;
      const kept = view.owners.filter((_, i) => !step.uids.includes(`owner-${i}`));
      assert.ok(kept.length > 0 && kept.every((state) => state === "solid"));
    }),
    { numRuns: howMany({ everyday: 5_000, deep: 50_000 }) },
  );
});
