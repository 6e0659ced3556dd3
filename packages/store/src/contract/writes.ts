import assert from "node:assert/strict";
import { test } from "node:test";
import { isAlreadyExists, isConflict, isNotFound, isStatus, StatusError } from "../object/status-error.ts";
import { Shelves, shelf, Widgets, widget } from "./kinds.ts";
import type { OpenStore } from "./open-store.ts";

const key = { namespace: "default", name: "a" };

/** Creates and updates: versions, conflicts, generated names. Part of `objectStoreContract`. */
export function writesContract(title: string, open: OpenStore): void {
  test(`${title}: create fills in what the server owns`, async (t) => {
    const store = await open(t);
    const sent = widget("a", { size: 1 });
    const made = await store.create(Widgets, { ...sent, status: { phase: "Forged" } });
    assert.match(made.metadata.uid ?? "", /^[0-9a-f-]{36}$/);
    assert.match(made.metadata.creationTimestamp ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.match(made.metadata.resourceVersion ?? "", /^\d+$/);
    assert.equal(made.metadata.generation, 1);
    assert.equal(made.status, undefined, "status has a subresource of its own");
    assert.deepEqual(await store.get(Widgets, key), made);
    assert.equal(sent.metadata.uid, undefined, "the caller's object is left alone");
  });

  test(`${title}: errors have the text of a Kubernetes API server`, async (t) => {
    const store = await open(t);
    await store.create(Widgets, widget("a"));
    await assert.rejects(store.create(Widgets, widget("a")), (error) => {
      assert.ok(isAlreadyExists(error));
      assert.equal(error.message, 'widgets.example.com "a" already exists');
      assert.deepEqual(error.details, { name: "a", group: "example.com", kind: "widgets" });
      return true;
    });
    await assert.rejects(store.get(Shelves, { name: "b" }), (error) => {
      assert.ok(isNotFound(error));
      assert.equal(error.message, 'shelves "b" not found');
      return true;
    });
    await assert.rejects(store.update(Shelves, shelf("b")), isNotFound);
    await assert.rejects(store.delete(Shelves, { name: "b" }), isNotFound);
  });

  test(`${title}: a write from an old version is a conflict`, async (t) => {
    const store = await open(t);
    const first = await store.create(Widgets, widget("a", { size: 1 }));
    const second = await store.update(Widgets, { ...first, spec: { size: 2 } });
    assert.equal(second.metadata.generation, 2);
    await assert.rejects(store.update(Widgets, { ...first, spec: { size: 3 } }), (error) => {
      assert.ok(isConflict(error));
      assert.equal(
        error.message,
        'Operation cannot be fulfilled on widgets.example.com "a": the object has been modified; please apply your changes to the latest version and try again',
      );
      return true;
    });
    assert.deepEqual(await store.get(Widgets, key), second);
  });

  test(`${title}: an update that changes nothing writes nothing`, async (t) => {
    const store = await open(t);
    const made = await store.create(Widgets, widget("a", { size: 1 }));
    assert.deepEqual(await store.update(Widgets, made), made);
    assert.deepEqual(await store.patch(Widgets, key, { type: "merge", body: { spec: { size: 1 } } }), made);
  });

  test(`${title}: status and the rest are written apart`, async (t) => {
    const store = await open(t);
    const made = await store.create(Widgets, widget("a", { size: 1 }));
    const marked = await store.updateStatus(Widgets, { ...made, spec: { size: 9 }, status: { phase: "Up" } });
    assert.deepEqual([marked.spec, marked.status], [{ size: 1 }, { phase: "Up" }]);
    assert.equal(marked.metadata.generation, 1, "status is not desired state");
    const resized = await store.update(Widgets, {
      ...marked,
      spec: { size: 2 },
      status: { phase: "Forged" },
    });
    assert.deepEqual([resized.spec, resized.status], [{ size: 2 }, { phase: "Up" }]);
  });

  test(`${title}: what the server owns cannot be changed`, async (t) => {
    const store = await open(t);
    const made = await store.create(Widgets, widget("a", { size: 1 }));
    const changed = await store.update(Widgets, {
      ...made,
      metadata: {
        ...made.metadata,
        creationTimestamp: "2001-01-01T00:00:00Z",
        generation: 77,
        labels: { a: "b" },
      },
    });
    assert.equal(changed.metadata.creationTimestamp, made.metadata.creationTimestamp);
    assert.equal(changed.metadata.generation, 1);
    assert.deepEqual(changed.metadata.labels, { a: "b" });
    const wrongUid = { ...changed.metadata, uid: "5b8e8a4e-0000-4000-8000-000000000000" };
    await assert.rejects(store.update(Widgets, { ...made, metadata: wrongUid }), isConflict);
  });

  test(`${title}: generateName gives every object its own name`, async (t) => {
    const store = await open(t);
    const nameless = { ...shelf(""), metadata: { name: "", generateName: "shelf-" } };
    const made = await Promise.all(Array.from({ length: 5 }, () => store.create(Shelves, nameless)));
    const names = new Set(made.map(({ metadata }) => metadata.name));
    assert.equal(names.size, 5);
    for (const name of names) assert.match(name, /^shelf-[a-z0-9]{5}$/);
  });

  test(`${title}: a dry run returns the object and changes nothing`, async (t) => {
    const store = await open(t);
    const imagined = await store.create(Widgets, widget("a"), { dryRun: true });
    assert.equal(imagined.metadata.name, "a");
    await assert.rejects(store.get(Widgets, key), isNotFound);
    const made = await store.create(Widgets, widget("a", { size: 1 }));
    assert.equal(
      (await store.update(Widgets, { ...made, spec: { size: 2 } }, { dryRun: true })).spec?.size,
      2,
    );
    await store.delete(Widgets, key, { dryRun: true });
    assert.deepEqual(await store.get(Widgets, key), made);
  });

  test(`${title}: names that could leave their place are refused`, async (t) => {
    const store = await open(t);
    for (const name of ["", ".", "..", "a/b", "a%2fb", "x".repeat(254)]) {
      await assert.rejects(store.create(Shelves, shelf(name)), (error) => error instanceof StatusError, name);
    }
  });

  test(`${title}: of many writers from one version exactly one wins`, async (t) => {
    const store = await open(t);
    const made = await store.create(Widgets, widget("a", { size: 0 }));
    const writes = Array.from({ length: 20 }, (_, i) =>
      store.update(Widgets, { ...made, spec: { size: i + 1 } }),
    );
    const results = await Promise.allSettled(writes);
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
    for (const result of results) {
      if (result.status === "rejected") assert.ok(isStatus(result.reason, "Conflict"), String(result.reason));
    }
  });
}
