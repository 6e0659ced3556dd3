import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isStatus,
  type KubeObject,
  type Logger,
  type ObjectStore,
  StatusError,
  silentLogger,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { runClusterController } from "./controller.ts";

const forbidden = () => Promise.reject(new StatusError("Forbidden", "leases are forbidden"));

test("a controller that may not have the lease says so at its start, though it never leads", async () => {
  const reported: unknown[] = [];
  const error = (fields: object) => reported.push(fields);
  const logger: Logger = { ...silentLogger, error, child: () => logger };
  const review = async (_kind: unknown, object: KubeObject) => ({ ...object, status: { allowed: false } });
  const store = { create: review, get: forbidden } as unknown as ObjectStore;
  const stop = new AbortController();
  const running = runClusterController({
    ...{ store, logger, signal: stop.signal, leases: {}, nodeGraceMs: 1_000, name: "controller" },
    ...{ endpoint: "unix:///nowhere/csi.sock", stateDir: "/nowhere" },
    sidecars: { namespace: "mooring" },
    leaderElection: {},
  });
  const lacks = (verb: string) => ({
    ...{ verb, resource: "leases.coordination.k8s.io", within: "mooring" },
    controllers: ["leader election"],
  });
  await eventually("what is missing is reported", () => reported.length >= 3, { lastSeen: () => reported });
  assert.deepEqual(reported, ["get", "create", "update"].map(lacks));
  stop.abort();
  await running.catch((cause: unknown) => assert.ok(!isStatus(cause, "Forbidden"), String(cause)));
});
