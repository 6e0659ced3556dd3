import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { NodeAgents } from "@mooring/engine";
import { Events, type ObjectStore, type Pod, Pods } from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { Up } from "../support/up.ts";

const run = promisify(execFile);
const GRACE_MS = 10_000;
const POD = { namespace: "default", name: "stays" };

/** A pod that goes at once when its node is lost. */
const IMPATIENT: Pod = {
  ...{ apiVersion: "v1", kind: "Pod", metadata: POD },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: "host", command: ["sleep", "10000"] }],
    tolerations: [
      {
        ...{ key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" },
        tolerationSeconds: 0,
      },
    ],
  },
};

/** When the agent of the machine, which begins before the kubelet, was heard of last; 0 when it has not been. */
async function heartbeat(store: ObjectStore): Promise<number> {
  const { items } = await store.list(NodeAgents);
  return Date.parse(items[0]?.status?.heartbeat ?? "") || 0;
}

test("a start in which the kubelet comes late costs no pod of its own machine", thorough(), async (t) => {
  const up = await Up.create({ args: ["--node-grace", `${GRACE_MS / 1000}s`, "--lease-duration", "5s"] });
  t.after(() => up.dispose());
  await up.start();
  const before = await up.store();
  await before.create(Pods, IMPATIENT);
  const container = await eventually("its process", async () => {
    const { status } = await before.get(Pods, POD);
    return status?.containerStatuses?.[0]?.state?.running && status.containerStatuses[0].containerID;
  });
  const { uid } = (await before.get(Pods, POD)).metadata;
  before.close();
  await up.end("SIGKILL");

  // The kubelet reads what its containers are before it begins: of this one only when somebody writes.
  const folder = join(up.stateDir, "kubelet/runtime/containers/late");
  await mkdir(folder);
  const record = join(folder, "record.json");
  await run("mkfifo", [record]);
  const asked = Date.now();
  const starting = up.start();
  const store = await eventually(
    "the API server",
    async () => {
      const found = await up.store();
      const lives = (await heartbeat(found).catch(() => 0)) > asked;
      if (!lives) found.close();
      return lives && found;
    },
    { mayThrow: true },
  );
  const first = await heartbeat(store);
  await eventually(
    "it to run for three times the grace",
    async () => (await heartbeat(store)) > first + 3 * GRACE_MS,
  );
  await writeFile(record, "");
  await starting;

  const pod = await store.get(Pods, POD);
  assert.equal(pod.metadata.uid, uid);
  assert.equal(pod.metadata.deletionTimestamp, undefined);
  assert.equal(pod.status?.containerStatuses?.[0]?.containerID, container);
  const reasons = (await store.list(Events)).items.map(({ reason }) => reason);
  assert.ok(!reasons.includes("NodeNotReady"), reasons.join(" "));
  store.close();
});
