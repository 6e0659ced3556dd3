import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventRecorder, PersistentVolume, PersistentVolumeClaim, Pod } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import type { Drivers } from "../csi/drivers.ts";
import { reportConditions } from "./conditions.ts";
import type { UsageSources } from "./usage.ts";

const NAMESPACE = "default";

const pod = (name: string, claimName: string): Pod => ({
  ...{ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: NAMESPACE, uid: `uid-${name}` } },
  spec: { containers: [], volumes: [{ name: "data", persistentVolumeClaim: { claimName } }] },
});

const claim = (name: string): PersistentVolumeClaim => ({
  ...{ apiVersion: "v1", kind: "PersistentVolumeClaim" },
  metadata: { name, namespace: NAMESPACE, uid: `uid-${name}` },
  spec: { volumeName: `pv-${name}` },
  status: { phase: "Bound" },
});

const volume = (name: string): PersistentVolume => ({
  ...{ apiVersion: "v1", kind: "PersistentVolume", metadata: { name: `pv-${name}` } },
  spec: {
    claimRef: { namespace: NAMESPACE, name, uid: `uid-${name}` },
    csi: { driver: "d", volumeHandle: `handle-${name}` },
  },
});

/** A node with pods, whose driver reports of each handle what the map has; a handle that is not in it is not known. */
function node(reports: Map<string, string | undefined>) {
  const pods = [pod("one", "big"), pod("two", "big"), pod("three", "small")];
  const claims = new Map(["big", "small"].map((name) => [`${NAMESPACE}/${name}`, claim(name)]));
  const volumes = new Map(["big", "small"].map((name) => [`pv-${name}`, volume(name)]));
  const calls: string[] = [];
  const nodeGetVolumeStats = async ({ volumeId }: { volumeId: string }) => {
    calls.push(volumeId);
    if (!reports.has(volumeId)) throw new Error("as scripted");
    const message = reports.get(volumeId);
    return { usage: [], volumeCondition: { abnormal: message !== undefined, message: message ?? "" } };
  };
  const drivers = { get: async () => ({ measures: true, client: { node: { nodeGetVolumeStats } } }) };
  const seen: string[] = [];
  const events = {
    event: ({ metadata }: Pod, type: string, reason: string, message: string) =>
      seen.push(`${metadata.name} ${type} ${reason} ${message}`),
  };
  const view = { claims, volumes } as unknown as UsageSources["view"];
  const sources = { pods, view, drivers: drivers as unknown as Drivers, pathOf: () => "/path" };
  return {
    ...{ seen, calls, pods },
    options: {
      drivers: drivers as unknown as Drivers,
      events: events as unknown as EventRecorder,
      sources: () => ({ ...sources, pods: [...pods] }),
      everyMs: 1,
    },
  };
}

test("what a driver reports of a volume is an event of each of its pods, once, and so is its end", async () => {
  const reports = new Map<string, string | undefined>([
    ["handle-big", "the pool is full"],
    ["handle-small", undefined],
  ]);
  const { seen, calls, pods, options } = node(reports);
  const stop = new AbortController();
  const running = reportConditions(options, stop.signal);
  /** Until every volume has been read after now. */
  const readAgain = async () => {
    const before = calls.length;
    await eventually("all to be read again", () => calls.length >= before + 5);
  };
  const take = () => seen.splice(0);
  try {
    await readAgain();
    const full = "Warning VolumeConditionAbnormal Volume data: the pool is full";
    assert.deepEqual(take(), [`one ${full}`, `two ${full}`]);
    pods.push(pod("late", "big"));
    await readAgain();
    assert.deepEqual(take(), [`late ${full}`]);
    // A driver that is away says nothing new.
    reports.delete("handle-big");
    await readAgain();
    reports.set("handle-big", "the pool is full");
    await readAgain();
    assert.deepEqual(take(), []);
    reports.set("handle-big", undefined);
    reports.set("handle-small", "");
    await readAgain();
    const over = "Normal VolumeConditionNormal Volume data: its driver reports nothing more";
    const unnamed =
      "three Warning VolumeConditionAbnormal Volume data: its driver reports an abnormal condition without a reason";
    assert.deepEqual(take().sort(), [`late ${over}`, `one ${over}`, unnamed, `two ${over}`].sort());
  } finally {
    stop.abort();
    await running;
  }
});

test("a driver that does not respond ends nothing, and a stop waits for none", async () => {
  const { options } = node(new Map());
  const stop = new AbortController();
  let asked = 0;
  const silent = {
    get: (_name: string, signal: AbortSignal) => {
      asked += 1;
      return new Promise<never>((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason)),
      );
    },
  } as unknown as Drivers;
  const running = reportConditions({ ...options, drivers: silent }, stop.signal);
  await eventually("it to be asked", () => asked > 0);
  stop.abort();
  await running;
});
