import assert from "node:assert/strict";
import { test } from "node:test";
import { Shelves, shelf, Widgets, widget } from "../contract/kinds.ts";
import { openStore } from "../testing/open-store.ts";
import { createInformer } from "./informer.ts";
import { mutate } from "./mutate.ts";
import { runController } from "./run-controller.ts";
import { waitFor } from "./wait-for.ts";

test("a controller reconciles what is there, what comes, and what failed", async (t) => {
  const store = await openStore(t);
  const stop = new AbortController();
  const informer = createInformer(store, Widgets, { indexers: { color: (w) => [w.spec?.color ?? ""] } });
  const running = informer.run(stop.signal);
  await store.create(Widgets, widget("old", { size: 1 }));
  let failures = 0;
  const active = new Set<string>();
  const controller = runController(
    {
      name: "grow",
      sources: [{ informer, keys: (w) => [w.metadata.name] }],
      async reconcile(name) {
        assert.ok(!active.has(name), "one key is never reconciled twice at the same time");
        active.add(name);
        try {
          if (name === "unlucky" && failures++ < 3) throw new Error("not yet");
          await mutate(
            store,
            Widgets,
            { namespace: "default", name },
            (w) => {
              w.status = { phase: "Done" };
            },
            { subresource: "status" },
          );
        } finally {
          active.delete(name);
        }
      },
      backoff: { baseMs: 5 },
    },
    stop.signal,
  );
  await store.create(Widgets, widget("new", { color: "red" }));
  await store.create(Widgets, widget("unlucky"));
  const limit = AbortSignal.timeout(60_000);
  for (const name of ["old", "new", "unlucky"]) {
    const done = await waitFor(
      store,
      Widgets,
      { namespace: "default", name },
      (w) => w?.status?.phase === "Done",
      limit,
    );
    assert.equal(done?.metadata.name, name);
  }
  assert.ok(failures >= 4);
  assert.deepEqual(
    informer.byIndex("color", "red").map((w) => w.metadata.name),
    ["new"],
  );
  stop.abort();
  await Promise.all([running, controller]);
});

test("waitFor sees creation and deletion", async (t) => {
  const store = await openStore(t);
  const limit = AbortSignal.timeout(60_000);
  const created = waitFor(store, Shelves, { name: "a" }, (s) => s !== undefined, limit);
  await store.create(Shelves, shelf("a"));
  assert.equal((await created)?.metadata.name, "a");
  const gone = waitFor(store, Shelves, { name: "a" }, (s) => s === undefined, limit);
  await store.delete(Shelves, { name: "a" });
  assert.equal(await gone, undefined);
  await assert.rejects(waitFor(store, Shelves, { name: "b" }, (s) => s !== undefined, AbortSignal.abort()));
});
