import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setEnvironmentData } from "node:worker_threads";
import { createHost, NodeAgents, startAgent } from "@mooring/engine";
import { acquireLease, eventually, Leases, mutate, silentLogger } from "@mooring/store";
import { bundleProgram, endAtRest } from "@mooring/store/testing";
import { bundledCrds, installCrds } from "../../crd/index.ts";
import { startTestServer } from "../testing/test-server.ts";

const NODE = { name: "n1" };
const LEASE = { namespace: "default", name: "held" };

test("a request that keeps the API server busy delays neither a Lease nor the heartbeat of an agent", async (t) => {
  const program = await bundleProgram(new URL("../testing/busy-thread.ts", import.meta.url));
  t.after(() => program.remove());
  const flags = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  setEnvironmentData("busy", flags.buffer);
  const server = await startTestServer({ thread: program.path });
  const { store, http } = server;
  const stop = new AbortController();
  const { signal } = stop;
  await installCrds(store, await bundledCrds());
  const lease = await acquireLease(store, { ...LEASE, identity: "test", retryMs: 50 }, signal);
  const agent = await startAgent({
    ...{ store, host: createHost(), nodeID: NODE.name, logger: silentLogger, signal },
    stateDir: join(server.folder, "agent"),
  });
  t.after(async () => {
    Atomics.store(flags, 1, 1);
    await lease.release();
    await endAtRest(async () => {
      stop.abort();
      await agent.done;
      await server.stop();
    });
  });
  const renewed = async () => (await store.get(Leases, LEASE)).spec?.renewTime;
  const changed = async (first: string | undefined) => (await renewed()) !== first;

  const response = http.send("/api/v1/namespaces/default", { headers: { "x-busy": "yes" } });
  let responded = false;
  void response.finally(() => {
    responded = true;
  });
  await eventually("the server is busy", () => Atomics.load(flags, 0) === 1);
  for (let times = 0; times < 3; times += 1) {
    const before = await renewed();
    await eventually("the Lease is renewed", () => changed(before));
    // An agent that lives says so at once.
    await mutate(store, NodeAgents, NODE, {
      change: (node) => ({ ...node, status: { ...node.status, state: "Suspect" as const } }),
      subresource: "status",
    });
    const isReady = async () => (await store.get(NodeAgents, NODE)).status?.state === "Ready";
    await eventually("the agent says that it lives", isReady);
  }
  assert.equal(responded, false, "the server was busy all the time");
  Atomics.store(flags, 1, 1);
  assert.equal((await response).status, 200);
});
