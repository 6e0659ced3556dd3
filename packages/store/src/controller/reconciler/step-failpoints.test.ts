import assert from "node:assert/strict";
import { test } from "node:test";
import { Widgets, widget } from "../../contract/kinds.ts";
import { eventually } from "../../runtime/eventually.ts";
import { armFailpoint, failpointNames } from "../../runtime/failpoint.ts";
import { openStore } from "../../testing/open-store.ts";
import { atRest } from "./at-rest.ts";
import { stepFailpoints } from "./step-failpoints.ts";
import { paint, type Step } from "./testing/paint.ts";

test("behind every step that has been applied its failpoint is passed, and behind none that throws", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w"));
  const failpoints = stepFailpoints<Step>("store/paint", { "write-phase": true });
  const passed = armFailpoint(undefined);
  let refused = 0;
  const { phase } = await paint(t, store, () => "painted", {
    failpoints,
    async apply(_, view) {
      refused += 1;
      if (refused === 1) throw new Error("refused");
      assert.deepEqual(passed, []);
      await store.updateStatus(Widgets, { ...view.widget, status: { phase: "painted" } });
    },
  });
  await eventually("the phase", async () => (await phase("w")) === "painted");
  await atRest();
  assert.deepEqual(passed, ["store/paint/write-phase"]);
});

test("failpoints of a controller are named by its steps, and of steps that write different things by these", () => {
  type Steps = { do: "open" } | { do: "record"; what: "ready" | "lost" } | { do: "refuse" } | { do: "done" };
  const pass = stepFailpoints<Steps>("store/steps", {
    open: true,
    record: { ready: true, lost: true },
    refuse: "throws",
  });
  const declared = failpointNames().filter((name) => name.startsWith("store/steps/"));
  assert.deepEqual(declared, ["store/steps/open", "store/steps/record-lost", "store/steps/record-ready"]);
  const passed = armFailpoint(undefined);
  pass({ do: "record", what: "lost" });
  pass({ do: "open" });
  assert.deepEqual(passed, ["store/steps/record-lost", "store/steps/open"]);
});
