import assert from "node:assert/strict";
import { test } from "node:test";
import { ShareManagers, Volumes } from "@mooring/engine";
import { watchedStore } from "../testing/watched-store.ts";
import { explainVolume } from "../why/explain-volume.ts";
import { causes } from "../why/finding.ts";
import { contextOf } from "../why/kinds.ts";
import { objectChecks } from "./object-checks.ts";

const apiVersion = "storage.mooring.dev/v1alpha1";

test("doctor and why name a node that may not share a volume, over which addresses, and what to do", async (t) => {
  const store = await watchedStore(t);
  const spec = { size: 1, pool: "p", volumeMode: "Filesystem" as const, accessMode: "rwx" };
  await store.create(Volumes, { apiVersion, kind: "Volume", metadata: { name: "v" }, spec });
  const outsider = { address: "192.0.2.9", message: 'node "c" at 192.0.2.9 ... --trusted-network' };
  const share = await store.create(ShareManagers, {
    ...{ apiVersion, kind: "ShareManager", metadata: { name: "v" } },
    spec: { nodeID: "a", users: ["a", "b", "c", "d"] },
  });
  await store.updateStatus(ShareManagers, {
    ...share,
    status: {
      ...{ state: "running", nodeID: "a", endpoint: "nfs://192.0.2.1:20490/v", users: ["b", "d"] },
      untrusted: [
        { nodeID: "c", refused: true, ...outsider },
        { nodeID: "d", refused: false, ...outsider },
      ],
    },
  });
  const checks = (await objectChecks(store, new Date())).filter((c) => c.check.startsWith("Volume v on"));
  assert.deepEqual(
    checks.map(({ check, state, next }) => [check, state, next]),
    [
      ["Volume v on c", "fail", "mooring why volume/v"],
      ["Volume v on d", "warn", "mooring why volume/v"],
    ],
  );
  assert.match(checks[0]?.detail ?? "", /192\.0\.2\.9 .* --trusted-network/);
  assert.match(checks[1]?.detail ?? "", /stays in until its workloads end/);
  const explained = await explainVolume(contextOf(store), "v");
  const [refused, served] = causes(explained).filter(({ subject }) => subject.startsWith("network of"));
  assert.deepEqual([refused?.subject, refused?.state], ["network of node c", "failed"]);
  assert.match(refused?.next ?? "", /--trusted-network .*WireGuard/);
  assert.deepEqual([served?.subject, served?.state], ["network of node d", "waiting"]);
  const whom = explained.children?.find(({ subject }) => subject === "ShareManager v");
  assert.match(whom?.message ?? "", /serves it for a, b, d at nfs:/);
});
