import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { defineResource, failpointNames, type UnstructuredObject, waitFor } from "@mooring/store";
import { bundleProgram, killEveryFailpoint } from "@mooring/store/testing";
import { startTestCluster } from "./testing/cluster.ts";
import { type CustomResourceDefinition, CustomResourceDefinitions } from "./types.ts";
import { isEstablished } from "./validate-definition.ts";

const program = await bundleProgram(new URL("testing/crash-child.ts", import.meta.url));
after(program.remove);
const failpoints = failpointNames().filter((name) => name.startsWith("standalone/crd/"));

test("there are failpoints to crash at", () => assert.ok(failpoints.length >= 2));

killEveryFailpoint(failpoints, { everyday: 1 }, (failpoint) => {
  test(`killed right after ${failpoint}, the next start finishes, and a new definition finds no old object`, async (t) => {
    const path = await mkdtemp(join(tmpdir(), "mooring-crd-crash-"));
    let stop = async () => {};
    t.after(async () => {
      await stop();
      await rm(path, { recursive: true, force: true });
    });
    const child = spawn(process.execPath, [program.path, path], {
      env: { ...process.env, MOORING_FAILPOINT: failpoint },
      stdio: "inherit",
    });
    const [, signal] = (await once(child, "exit")) as [number | null, string | null];
    assert.equal(signal, "SIGKILL");

    const cluster = await startTestCluster(path);
    const { store } = cluster;
    stop = cluster.stop;
    const key = { name: "widgets.example.com" };
    const within = AbortSignal.timeout(60_000);
    await waitFor(store, { resource: CustomResourceDefinitions, key }, (crd) => crd === undefined, within);
    const again: CustomResourceDefinition = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "widgets.example.com" },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { kind: "Widget", plural: "widgets" },
        versions: [
          { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
        ],
      },
    };
    await store.create(CustomResourceDefinitions, again);
    await waitFor(
      store,
      { resource: CustomResourceDefinitions, key },
      (crd) => crd !== undefined && isEstablished(crd),
      within,
    );
    const widgets = defineResource<UnstructuredObject>({
      group: "example.com",
      version: "v1",
      kind: "Widget",
      plural: "widgets",
      namespaced: true,
    });
    assert.deepEqual((await store.list(widgets)).items, []);
  });
});
