import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { atRest, enlist, lastingSleepers } from "./at-rest.ts";
import { stepName } from "./outcome.ts";

/** A controller with one key that has work whenever somebody asks. */
function run(t: TestContext, passOf: () => unknown): void {
  const checked = {
    ...{
      name: "one",
      store: undefined,
      idle: true,
      taken: 0,
      backlog: { ready: 0, oldestMs: 0, activeMs: [] },
      passOf,
    },
    keys: () => ["key"],
    forgotten: async () => ({ step: { do: "step" }, awaitsEvent: false }),
  };
  t.after(enlist(checked));
}

test("what nobody reads sleeps", async (t) => {
  const pass = {};
  run(t, () => pass);
  const found = await lastingSleepers({ checks: 2 });
  assert.deepEqual(found, [{ controller: "one", key: "key", step: "step" }]);
});

test("a step is named with what it records and what it is taken for", () => {
  assert.equal(stepName({ do: "open-device" }), "open-device");
  assert.equal(stepName({ do: "record", what: "attached" }), "record attached");
  assert.equal(
    stepName({ do: "change", step: { do: "record", what: "attached" } }),
    "change: record attached",
  );
});

test("what is tried again and again does not sleep, also when it is due at every check", async (t) => {
  run(t, () => ({}));
  assert.deepEqual(await lastingSleepers({ checks: 2 }), []);
});

test("what another system of the process does or leaves undone is not asked about", async (t) => {
  const [own, other] = [{}, {}];
  const busy = {
    ...{
      name: "busy",
      store: other,
      idle: false,
      taken: 0,
      backlog: { ready: 1, oldestMs: 0, activeMs: [] },
    },
    ...{
      passOf: () => undefined,
      keys: () => ["key"],
      forgotten: async () => ({ step: { do: "step" }, awaitsEvent: false }),
    },
  };
  t.after(enlist(busy));
  await atRest({ withinMs: 0, store: own });
  assert.deepEqual(await lastingSleepers({ checks: 2, store: own }), []);
  await assert.rejects(atRest({ withinMs: 0, store: other }), /no rest: busy/);
});
