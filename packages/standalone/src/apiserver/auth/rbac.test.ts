import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { JsonStore } from "@mooring/store";
import { Authorizer } from "./rbac.ts";

const RITA = { username: "rita", groups: [] };

/** A store of bindings of one user only, in which reading a role keeps the thread for a millisecond. */
function slowStore(roleNames: readonly string[]): { store: JsonStore; read: string[] } {
  const items = roleNames.map((name, at) => ({
    metadata: { name: `b${at}`, namespace: "default" },
    subjects: [{ kind: "User", name: RITA.username }],
    roleRef: { kind: "Role", name },
  }));
  const read: string[] = [];
  const store = {
    list: async ({ kind }: { kind: string }) => ({ items: kind === "RoleBinding" ? items : [] }),
    get: (_kind: unknown, { name }: { name: string }) => {
      read.push(name);
      const until = performance.now() + 1;
      while (performance.now() < until);
      return Promise.resolve({ rules: [{ verbs: ["get"], apiGroups: [""], resources: [name] }] });
    },
  };
  return { store: store as unknown as JsonStore, read };
}

test("a role is read once, however many bindings name it", async () => {
  const { store, read } = slowStore(Array.from({ length: 500 }, (_, i) => `role${i % 2}`));
  const rules = await new Authorizer(store).rulesFor(RITA, "default");
  assert.deepEqual(read, ["role0", "role1"]);
  assert.deepEqual(
    rules.flatMap(({ resources = [] }) => resources),
    ["role0", "role1"],
  );
});

test("others get their turn while the many roles of one user are read", async () => {
  const { store } = slowStore(Array.from({ length: 100 }, (_, i) => `role${i}`));
  let done = false;
  const asked = new Authorizer(store).rulesFor(RITA, "default").finally(() => {
    done = true;
  });
  let turns = 0;
  for (; !done; turns += 1) await nextTurn();
  assert.equal((await asked).length, 100);
  assert.ok(turns >= 10, `others had ${turns} turns`);
});

test("a service account without a namespace is of the binding's", async () => {
  const bindings = [{ metadata: { name: "b", namespace: "one" }, roleRef: { kind: "Role", name: "r" } }].map(
    (binding) => ({ ...binding, subjects: [{ kind: "ServiceAccount", name: "builder" }] }),
  );
  const store = {
    list: async ({ kind }: { kind: string }) => ({ items: kind === "RoleBinding" ? bindings : [] }),
    get: async () => ({ rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }] }),
  } as unknown as JsonStore;
  const rulesOf = (namespace: string) =>
    new Authorizer(store).rulesFor(
      { username: `system:serviceaccount:${namespace}:builder`, groups: [] },
      "one",
    );
  assert.equal((await rulesOf("one")).length, 1);
  assert.equal((await rulesOf("two")).length, 0);
});
