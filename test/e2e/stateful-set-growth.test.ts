import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolumeClaim } from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { type World, world } from "../support/world.ts";

const NAMESPACE = "default";
/** No whole sectors, so that a claim has a little more than its template asks for. */
const SMALL = "100M";
const SMALL_HAS = "97660Ki";
/** More than the pool has. */
const LARGE = "20Gi";

/** A manifest as a user keeps it; only the size of the claims differs between its versions. */
function manifest(size: string): string {
  const { spec } = pod(NAMESPACE, "db", "exec sleep infinity", { mounts: { "/data": "data" } });
  return JSON.stringify({
    ...{ apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "db", namespace: NAMESPACE } },
    spec: {
      ...{ replicas: 2, serviceName: "db", selector: { matchLabels: { app: "db" } } },
      template: {
        metadata: { labels: { app: "db" } },
        spec: { ...spec, restartPolicy: "Always", volumes: undefined },
      },
      volumeClaimTemplates: [claim(NAMESPACE, "data", { size })],
    },
  });
}

const name = (ordinal: number) => `data-db-${ordinal}`;
const sized = (size: string) => JSON.stringify({ spec: { resources: { requests: { storage: size } } } });

async function readClaim({ kubectl }: World, ordinal: number): Promise<PersistentVolumeClaim> {
  return JSON.parse(await kubectl.run("get", "pvc", name(ordinal), "-o", "json")) as PersistentVolumeClaim;
}

/** Asks for no more than it has, and nothing of a growth is left. */
async function isAtRest(world: World, ordinal: number): Promise<void> {
  const seen = () => readClaim(world, ordinal);
  await eventually(
    `${name(ordinal)} to be as before it was to grow`,
    async () => {
      const { spec, status } = await seen();
      return (
        [spec?.resources?.requests, status?.capacity, status?.allocatedResources].every(
          (each) => each?.["storage"] === SMALL_HAS,
        ) &&
        (status?.conditions ?? []).length === 0 &&
        Object.keys(status?.allocatedResourceStatuses ?? {}).length === 0
      );
    },
    { lastSeen: async () => JSON.stringify(await seen()) },
  );
}

/** What `mooring why` says to do, once it has found the refusal. */
async function saysToDo({ up }: World, target: string, next: RegExp): Promise<void> {
  const why = async () => (await mooring("why", target, "--kubeconfig", up.kubeconfig)).stdout;
  await eventually(`why ${target}`, async () => next.test(await why()), { lastSeen: why });
}

test(
  "a StatefulSet whose claims cannot grow is brought back by its older manifest, and claims that a user has sized stay",
  thorough(),
  async () => {
    const at = await world({ poolSize: "1Gi" });
    const { kubectl, shows, gone, up } = at;
    await kubectl.apply(manifest(SMALL));
    await kubectl.run("rollout", "status", "sts/db", "--timeout=120s");

    await kubectl.apply(manifest(LARGE));
    const growth = "{.status.allocatedResourceStatuses.storage}";
    for (const ordinal of [0, 1]) await shows(["pvc", name(ordinal)], growth, "ControllerResizeInfeasible");
    for (const target of [`pvc/${name(0)}`, "pod/db-0", "sts/db"])
      await saysToDo(at, target, /next: .*kubectl edit sts -n default db/);
    await kubectl.run("patch", "pvc", name(1), "-p", sized("21Gi"));
    await saysToDo(at, `pvc/${name(1)}`, /next: .*kubectl edit pvc -n default data-db-1/);

    await kubectl.apply(manifest(SMALL));
    await isAtRest(at, 0);
    assert.equal((await readClaim(at, 1)).spec?.resources?.requests?.["storage"], "21Gi");
    await kubectl.run("patch", "pvc", name(1), "-p", sized(SMALL_HAS));
    await isAtRest(at, 1);
    for (const args of [["status"], ["why", "sts/db"], ["why", "pod/db-1"], ["why", `pvc/${name(0)}`]]) {
      const { code, stdout, stderr } = await mooring(...args, "--kubeconfig", up.kubeconfig);
      assert.equal(code, 0, `${args.join(" ")}: ${stdout}${stderr}`);
    }

    const refused = await kubectl.feed(manifest("50M"), "apply");
    assert.match(refused.stderr, /none of its claims is waiting for more/);
    await kubectl.run("delete", "sts", "db");
    for (const ordinal of [0, 1]) await kubectl.run("delete", "pvc", name(ordinal), "--wait=false");
    for (const ordinal of [0, 1]) await gone("pvc", name(ordinal));
  },
);
