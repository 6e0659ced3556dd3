import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { after } from "node:test";
import { silentLogger } from "@mooring/store";
import {
  assertNothingLeft,
  eventually,
  PersistentVolumeClaims,
  Pods,
  startTestCluster,
  type TestCluster,
} from "./test-cluster.ts";

/** What a container runs that is to stay until it is signalled to end. */
export const FOREVER = "trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done";

/** The calls of a volume that one pod uses, from its first to its last. */
export const LIFE: readonly string[] = [
  "ControllerPublishVolume",
  "NodeStageVolume",
  "NodePublishVolume",
  "NodeUnpublishVolume",
  "NodeUnstageVolume",
  "ControllerUnpublishVolume",
];

export interface VolumeCluster {
  cluster: TestCluster;
  folder: string;
  /** Deletes a pod and waits until it is gone. */
  remove(pod: string): Promise<void>;
  /** The handle of the volume that the claim is bound to, as soon as it is. */
  boundHandle(claim: string): Promise<string>;
  /** The calls that the driver got for a volume so far. */
  callsOf(handle: string): string[];
}

/** A cluster for the tests of one file, and what they ask of it; nothing may be left of it at the end. */
export async function volumeCluster(
  more: Parameters<typeof startTestCluster>[2] = {},
): Promise<VolumeCluster> {
  const folder = await mkdtemp("/tmp/mooring-volumes-");
  const cluster = await startTestCluster(folder, silentLogger, more);
  after(async () => {
    await cluster.stop();
    await assertNothingLeft(folder);
    await rm(folder, { recursive: true });
  });
  const { store, driver } = cluster;
  return {
    cluster,
    folder,
    remove: async (name) => {
      await store.delete(Pods, { namespace: "default", name });
      await eventually(store, Pods, name, (object) => object === undefined);
    },
    boundHandle: async (name) => {
      const bound = await eventually(
        store,
        PersistentVolumeClaims,
        name,
        (object) => object?.status?.phase === "Bound",
      );
      return bound?.spec?.volumeName ?? assert.fail();
    },
    callsOf: (handle) =>
      driver.calls.filter((call) => call.endsWith(` ${handle}`)).map((call) => call.split(" ")[0] ?? ""),
  };
}
