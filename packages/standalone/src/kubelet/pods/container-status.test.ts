import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@mooring/store";
import { containerStatus } from "./container-status.ts";
import type { ContainerView, PodView } from "./pod-view.ts";

const at = "2026-01-01T00:00:00Z";

/** A pod of which each container has left this message. */
function viewOf(count: number, message: string): PodView {
  const containers = Array.from({ length: count }, (_, index): ContainerView => {
    const name = `c${index}`;
    const own = { id: name, pod: { uid: "u", namespace: "default", name: "p" }, name, attempt: 0 };
    const exit = { code: 1, reason: "Error", message, finishedAt: at };
    return {
      ...{
        spec: { name, image: "host" },
        role: "app",
        previous: undefined,
        probes: { started: true, ready: true },
      },
      latest: { ...own, state: "exited", createdAt: at, startedAt: at, exit },
    };
  });
  const spec = { restartPolicy: "Never", containers: containers.map((each) => each.spec) };
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "default", uid: "u" },
    spec,
  };
  return { pod, containers, volumesReady: true, volumesInUse: false, onDisk: true, now: Date.parse(at) };
}

const messages = (view: PodView) =>
  view.containers.map((each) => containerStatus(view, each).state?.terminated?.message ?? "");

test("termination messages of a pod have 12 KiB together, in equal shares of whole characters", () => {
  assert.deepEqual(messages(viewOf(1, "x".repeat(4096))), ["x".repeat(4096)]);
  const many = messages(viewOf(200, "\u{1f600}".repeat(1024)));
  assert.deepEqual(new Set(many), new Set(["\u{1f600}".repeat(15)]));
  assert.ok(Buffer.byteLength(many.join("")) <= 12 * 1024);
});
