import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { eventually } from "@mooring/store/testing";
import { startControlPlane } from "../real/support/control-plane.mjs";
import { differences, record, TABLES } from "./support/compare.ts";
import { Connection } from "./support/connection.ts";
import { makeWorld } from "./support/world.ts";

/** A folder with etcd, kube-apiserver and kube-controller-manager: `npm run test:kubernetes` makes one. */
const bin = process.env.MOORING_KUBERNETES_BIN;
const skip = bin === undefined && "MOORING_KUBERNETES_BIN names no Kubernetes";
const RECORD = process.env.MOORING_RECORD_RESPONSES === "1";

let folder: string;
let cluster: Awaited<ReturnType<typeof startControlPlane>> | undefined;
let connection: Connection;
before(async () => {
  if (bin === undefined) return;
  folder = await mkdtemp(join(tmpdir(), "mooring-responses-"));
  const only = ["etcd", "kube-apiserver", "kube-controller-manager"];
  cluster = await startControlPlane({ folder, bin, only, address: undefined });
  connection = await Connection.open(cluster.admin);
  await makeWorld(connection);
  await eventually("view is made of its parts", async () => {
    const { body } = await connection.send("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin");
    return JSON.stringify(body).includes("localsubjectaccessreviews");
  });
});
after(async () => {
  connection?.close();
  await cluster?.stop();
  if (bin !== undefined) await rm(folder, { recursive: true, force: true });
});

for (const name of Object.keys(TABLES)) {
  test(`a Kubernetes API server still responds to ${name} so`, { skip }, async () => {
    if (RECORD) await record(connection, name);
    const found = await differences(connection, name, "theirs");
    assert.equal(found.length, 0, `${found.length} differ\n${found.join("\n")}`);
  });
}
