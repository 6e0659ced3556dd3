import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { contextOf, explainerOf, objectChecks, renderFinding } from "@mooring/cli";
import { defined, type Resource, RestStore } from "@mooring/store";
import { eventually, sample } from "@mooring/store/testing";
import { mooring } from "../support/mooring.ts";
import { world } from "../support/world.ts";
import { volumeOf } from "./bound.ts";
import { CLAIMS } from "./claims.ts";
import { EVERYDAY } from "./everyday.ts";
import { aClaim } from "./objects.ts";
import { PODS } from "./pods.ts";
import { POOLS } from "./pools.ts";
import type { Situation } from "./situation.ts";
import { SNAPSHOTS } from "./snapshots.ts";
import { VOLUMES } from "./volumes.ts";
import { WORKLOADS } from "./workloads.ts";

const ALL = [...PODS, ...CLAIMS, ...SNAPSHOTS, ...VOLUMES, ...POOLS, ...WORKLOADS, ...EVERYDAY];
const { up, kubectl } = await world();
const store = await RestStore.fromKubeconfig(up.kubeconfig);

/** Rows are numbered by their place in the list of all, so that a namespace has the same name in every run. */
const namespaceOf = (row: Situation): string => `situation-${ALL.indexOf(row) + 1}`;

/** Objects of a situation say only when they are the cluster's. */
function placed(object: object, namespace: string): object {
  const { metadata, spec, ...rest } = object as {
    metadata: { namespace?: string };
    spec?: { volumeSnapshotRef?: object };
  };
  const at = metadata.namespace === "" ? {} : { namespace };
  const { namespace: _, ...own } = metadata;
  const reference = spec?.volumeSnapshotRef;
  const pointed =
    reference === undefined ? spec : { ...spec, volumeSnapshotRef: { ...reference, namespace } };
  return { ...rest, metadata: { ...own, ...at }, ...defined({ spec: pointed }) };
}

/** What `mooring why` prints, without a process for each read. */
async function whyOf(target: string, namespace: string): Promise<string> {
  const [kind = "", name = ""] = target.split("/");
  const explain = explainerOf(kind);
  if (explain === undefined) throw new Error(`no command explains ${target}`);
  return renderFinding(await explain(contextOf(store), namespace, name));
}

/** What doctor finds in the namespace, and of the cluster, once what is under way has had its time. */
async function doctorOf(namespace: string): Promise<string> {
  const here = new Proxy(store, {
    get: (target, name) => {
      if (name !== "list") return Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name);
      return (resource: Resource, options: object = {}) =>
        target.list(resource, { ...options, ...(resource.namespaced ? { namespace } : {}) });
    },
  });
  const checks = await objectChecks(here, new Date(Date.now() + 3_600_000));
  return checks
    .filter(({ state }) => state !== "ok")
    .map(({ check, detail, next = "" }) => `${check}: ${detail}\nnext: ${next}\n`)
    .join("");
}

async function inDoctor({ cause, next, doctorIsSilent }: Situation, namespace: string): Promise<void> {
  let output = "";
  await eventually("doctor to report the cause", async () => {
    output = await doctorOf(namespace);
    if (doctorIsSilent !== undefined) return true;
    return cause.test(output) && (next === undefined || next.test(output));
  }).catch((error: Error) => {
    throw new Error(`${error.message}; mooring doctor prints:\n${output}`);
  });
  if (doctorIsSilent !== undefined) assert.doesNotMatch(output, cause, "doctor need not be silent");
}

async function make({ objects, breaks }: Situation, namespace: string): Promise<void> {
  const first = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  const items = [first, ...objects.map((object) => placed(object, namespace))];
  await kubectl.apply(JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await breaks?.({ up, kubectl, namespace });
}

describe("what is broken is reported with its cause, and what to do", { concurrency: 6 }, () => {
  for (const row of sample(ALL, { everyday: 3 })) {
    test(row.name, async () => {
      const namespace = namespaceOf(row);
      await make(row, namespace);
      const target =
        typeof row.target === "string" ? row.target : await row.target({ up, kubectl, namespace });
      let output = "";
      await eventually("the cause to be reported", async () => {
        output = await whyOf(target, namespace);
        return row.cause.test(output) && (row.next === undefined || row.next.test(output));
      }).catch((error: Error) => {
        throw new Error(`${error.message}; mooring why ${target} prints:\n${output}`);
      });
      if (row.doctor === undefined) {
        await inDoctor(row, namespace);
        return;
      }
      const { stdout } = await mooring("doctor", "--kubeconfig", up.kubeconfig, "--state-dir", up.stateDir);
      assert.match(stdout.replaceAll(namespace, "NS"), row.doctor, "mooring doctor");
    });
  }
});

test("an object is found by its name alone, and an unknown name is reported", async () => {
  await kubectl.run("create", "namespace", "nameless");
  await kubectl.apply(JSON.stringify(placed({ ...PODS[0]?.objects[0] }, "nameless")));
  const found = await mooring("why", "web", "-n", "nameless", "--kubeconfig", up.kubeconfig);
  assert.match(found.stdout, /Pod nameless\/web: /);
  const missing = await mooring("why", "nobody", "-n", "nameless", "--kubeconfig", up.kubeconfig);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /nothing in namespace nameless is called "nobody"\nnext: /);
});

test("kubectl shows sizes of pools and volumes in Gi and Mi, and bytes in their fields", async () => {
  const [, row = ""] = (await kubectl.run("get", "pools")).split("\n");
  assert.match(row, /^default +true +xfs +node-a +\d(\.\d)?Gi +\d(\.\d)?Gi +\S+$/);
  const [, wide = ""] = (await kubectl.run("get", "pools", "-o", "wide")).split("\n");
  assert.match(wide, /^default +true +xfs +node-a +(<none> +)?\S+Gi +\S+Gi +[0-9.]+[MG]?i? +0 +\//);
  assert.match(
    await kubectl.run("get", "pool", "default", "-o", "jsonpath={.status.totalBytes}"),
    /^\d{10}$/,
  );
  await kubectl.run("create", "namespace", "sizes");
  await kubectl.apply(JSON.stringify(placed(aClaim("data"), "sizes")));
  const volume = await volumeOf({ kubectl, namespace: "sizes" });
  const [, shown = ""] = (await kubectl.run("get", "volumes.storage.mooring.dev", volume)).split("\n");
  assert.match(shown, new RegExp(`^${volume} .* 64Mi `));
});

test("status shows nodes, pools, objects and troubles on one screen", async () => {
  const { stdout } = await mooring("status", "--kubeconfig", up.kubeconfig);
  assert.match(stdout, /^node-a +Ready$/m);
  assert.match(stdout, /^default +xfs +node-a +ready +\S+ GiB +\S+ GiB +\d+ %/m);
  assert.match(stdout, /^Pod +\d+ +/m);
  const { stdout: json } = await mooring("status", "--json", "--kubeconfig", up.kubeconfig);
  assert.equal(JSON.parse(json).pools[0].ready, true);
});
