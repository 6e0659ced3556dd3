import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { LocalStore, type Pod, ResourceRegistry, ServiceAccounts } from "@mooring/store";
import { PodTokens, type TokenOrder } from "./tokens.ts";

const pod: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "ns", uid: "u" },
  spec: { containers: [], serviceAccountName: "robot" },
};

test("a token is kept while it is good, renewed when most of its time is over, and needs its account", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-tokens-"));
  const registry = new ResourceRegistry([{ resource: ServiceAccounts, hasStatus: false }]);
  const store = await LocalStore.open({ path: folder, registry });
  t.after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  const orders: TokenOrder[] = [];
  const due = new EventTarget();
  const tokens = new PodTokens({
    store,
    issue: (order, now) => {
      orders.push(order);
      return { token: `t${orders.length}`, expires: new Date(now.getTime() + order.seconds * 1000) };
    },
    due: () => due.dispatchEvent(new Event("due")),
  });
  await assert.rejects(tokens.get(pod, {}), /serviceaccount "robot" not found/);
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot", namespace: "ns" } };
  const { uid } = (await store.create(ServiceAccounts, account)).metadata;
  assert.equal(await tokens.get(pod, {}), "t1");
  assert.equal(await tokens.get(pod, {}), "t1");
  assert.deepEqual(orders[0], {
    namespace: "ns",
    account: { name: "robot", uid },
    audiences: [],
    seconds: 3600,
    boundTo: { kind: "Pod", name: "p", uid: "u" },
  });
  const brief = { audience: "vault", expirationSeconds: 0.01 };
  const emitted = once(due, "due");
  const first = await tokens.get(pod, brief);
  // The token alone must not keep a process alive; this test waits for it.
  const alive = setInterval(() => {}, 1000);
  await emitted.finally(() => clearInterval(alive));
  assert.notEqual(await tokens.get(pod, brief), first);
  assert.deepEqual(orders.at(-1)?.audiences, ["vault"]);
  tokens.forget("u");
  assert.notEqual(await tokens.get(pod, {}), "t1");
  tokens.forget("u");
});
