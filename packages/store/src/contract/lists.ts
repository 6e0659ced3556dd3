import assert from "node:assert/strict";
import { test } from "node:test";
import { isStatus } from "../object/status-error.ts";
import type { ListOptions, ObjectStore } from "../object-store.ts";
import { Widgets, widget } from "./kinds.ts";
import type { OpenStore } from "./open-store.ts";

async function names(store: ObjectStore, options: ListOptions): Promise<string[]> {
  const { items } = await store.list(Widgets, options);
  return items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
}

/** Lists, their pages and selectors. Part of `objectStoreContract`. */
export function listsContract(title: string, open: OpenStore): void {
  test(`${title}: lists are sorted and keep to their namespace`, async (t) => {
    const store = await open(t);
    for (const name of ["c", "a", "b"]) await store.create(Widgets, widget(name));
    const elsewhere = widget("x");
    elsewhere.metadata.namespace = "other";
    await store.create(Widgets, elsewhere);
    assert.deepEqual(await names(store, {}), ["default/a", "default/b", "default/c", "other/x"]);
    assert.deepEqual(await names(store, { namespace: "other" }), ["other/x"]);
    assert.deepEqual(await names(store, { namespace: "othe" }), []);
  });

  test(`${title}: label and field selectors`, async (t) => {
    const store = await open(t);
    await store.create(Widgets, widget("a", { color: "red" }, { app: "db", tier: "back" }));
    await store.create(Widgets, widget("b", { color: "blue" }, { app: "web", tier: "front" }));
    await store.create(Widgets, widget("c", { color: "red" }));
    const cases: [ListOptions, string[]][] = [
      [{ labelSelector: "app=db" }, ["a"]],
      [{ labelSelector: "app!=db" }, ["b", "c"]],
      [{ labelSelector: "app in (db, web),tier notin (front)" }, ["a"]],
      [{ labelSelector: "app" }, ["a", "b"]],
      [{ labelSelector: "!app" }, ["c"]],
      [{ fieldSelector: "spec.color=red" }, ["a", "c"]],
      [{ fieldSelector: "spec.color!=red,metadata.namespace=default" }, ["b"]],
      [{ namespace: "default", fieldSelector: "metadata.name=c" }, ["c"]],
      [{ fieldSelector: "metadata.name=c" }, ["c"]],
      [{ fieldSelector: "metadata.name=c,spec.color=blue" }, []],
    ];
    for (const [options, expected] of cases) {
      const found = (await store.list(Widgets, options)).items.map(({ metadata }) => metadata.name);
      assert.deepEqual(found, expected, JSON.stringify(options));
    }
    await assert.rejects(names(store, { labelSelector: "a in b" }), (error) => isStatus(error, "BadRequest"));
    await assert.rejects(names(store, { fieldSelector: "spec.size=1" }), (error) =>
      isStatus(error, "BadRequest"),
    );
  });

  test(`${title}: pages are one picture, whatever is written between them`, async (t) => {
    const store = await open(t);
    for (const name of ["a", "b", "c", "d", "e"]) await store.create(Widgets, widget(name, { size: 1 }));
    const first = await store.list(Widgets, { namespace: "default", limit: 2 });
    assert.equal(first.remainingItemCount, 3);
    await store.create(Widgets, widget("bb"));
    await store.delete(Widgets, { namespace: "default", name: "c" });
    await store.patch(
      Widgets,
      { namespace: "default", name: "d" },
      { type: "merge", body: { spec: { size: 2 } } },
    );
    const seen = [...first.items];
    let next = first.continue;
    while (next) {
      const page = await store.list(Widgets, { namespace: "default", limit: 2, continue: next });
      assert.equal(page.resourceVersion, first.resourceVersion);
      seen.push(...page.items);
      next = page.continue;
    }
    assert.deepEqual(
      seen.map(({ metadata, spec }) => [metadata.name, spec?.size]),
      ["a", "b", "c", "d", "e"].map((name) => [name, 1]),
    );
  });

  test(`${title}: a list may ask for an exact version`, async (t) => {
    const store = await open(t);
    const made = await store.create(Widgets, widget("a", { size: 1 }));
    await store.update(Widgets, { ...made, spec: { size: 2 } });
    const resourceVersion = made.metadata.resourceVersion ?? "";
    const old = await store.list(Widgets, { resourceVersion, resourceVersionMatch: "Exact" });
    assert.deepEqual(
      old.items.map(({ spec }) => spec?.size),
      [1],
    );
    const now = await store.list(Widgets, { resourceVersion, resourceVersionMatch: "NotOlderThan" });
    assert.deepEqual(
      now.items.map(({ spec }) => spec?.size),
      [2],
    );
  });

  test(`${title}: nonsense is refused`, async (t) => {
    const store = await open(t);
    await assert.rejects(names(store, { continue: "garbage", limit: 1 }), (e) =>
      isStatus(e, "BadRequest", "Expired"),
    );
    await assert.rejects(names(store, { fieldSelector: "spec.size=1" }), (e) => isStatus(e, "BadRequest"));
    await assert.rejects(names(store, { resourceVersion: "abc" }), (e) =>
      isStatus(e, "Invalid", "BadRequest"),
    );
    await assert.rejects(names(store, { resourceVersion: "99999999999" }), (e) => isStatus(e, "Timeout"));
  });
}
