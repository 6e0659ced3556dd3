import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { Namespaces, type UnstructuredObject } from "@mooring/store";
import { bundledCrds, installCrds } from "../index.ts";
import { startTestCluster } from "./cluster.ts";

/** A server with the bundled definitions and a namespace `a`, gone after the test. */
export async function startWithCrds(t: TestContext) {
  const path = await mkdtemp(join(tmpdir(), "mooring-group-crd-"));
  const { stop, ...cluster } = await startTestCluster(path);
  t.after(async () => {
    await stop();
    await rm(path, { recursive: true, force: true });
  });
  await cluster.store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } });
  await installCrds(cluster.store, await bundledCrds(), { signal: AbortSignal.timeout(60_000) });
  return cluster;
}

const GROUP = "groupsnapshot.storage.k8s.io";

export type Fields = Record<string, unknown>;
const make =
  (kind: string, namespaced: boolean) =>
  (fields: Fields): UnstructuredObject => ({
    apiVersion: `${GROUP}/v1`,
    kind,
    metadata: { name: "x", ...(namespaced ? { namespace: "a" } : {}) },
    ...structuredClone(fields),
  });
export const groupOf = make("VolumeGroupSnapshot", true);
export const classOf = make("VolumeGroupSnapshotClass", false);
export const contentOf = make("VolumeGroupSnapshotContent", false);

export const selector = { matchLabels: { app: "db" } };
export const handles = { volumeGroupSnapshotHandle: "g", volumeSnapshotHandles: ["m"] };
export const group = groupOf({ spec: { source: { selector } } });
export const imported = groupOf({ spec: { source: { volumeGroupSnapshotContentName: "c" } } });
export const plainClass = classOf({ driver: "d", deletionPolicy: "Delete", parameters: { a: "b" } });
const ref = { name: "s", namespace: "a" };
export const contentSpec = {
  deletionPolicy: "Delete",
  driver: "d",
  volumeGroupSnapshotRef: ref,
  source: { volumeHandles: ["v"] },
};
export const content = contentOf({ spec: contentSpec });
