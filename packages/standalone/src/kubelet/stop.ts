import { type Logger, withTimeLimit } from "@mooring/store";
import type { ClusterView } from "../controllers/cluster-view.ts";
import type { Runtime } from "../runtime/index.ts";
import { runPreStop } from "./pods/hooks.ts";
import { rolesOf } from "./pods/pod-view.ts";
import type { PodVolumes } from "./pods/pod-volumes.ts";
import type { VolumeManager } from "./volumes/index.ts";

interface StopOptions {
  view: ClusterView;
  runtime: Runtime;
  volumes: PodVolumes;
  manager: VolumeManager;
  nodeName: string;
  logger: Logger;
}

/** An operator who stops Mooring does not wait for minutes, whatever a pod asks for. */
const LONGEST_GRACE_MS = 30_000;
const UNMOUNT_MS = 60_000;

/** Ends all processes and takes all volumes away; objects stay as they are. */
export async function stopPods(options: StopOptions): Promise<void> {
  const { view, runtime, volumes, manager, nodeName, logger } = options;
  const running = runtime.list().filter(({ state }) => state !== "exited");
  const none = new AbortController().signal;
  const stops = await Promise.allSettled(
    running.map(async ({ id, pod, name }) => {
      const object = view.pods.byIndex("uid", pod.uid)[0];
      const graceMs = Math.min((object?.spec?.terminationGracePeriodSeconds ?? 30) * 1000, LONGEST_GRACE_MS);
      const until = performance.now() + graceMs;
      const spec =
        object === undefined ? undefined : rolesOf(object).find((each) => each.spec.name === name)?.spec;
      if (spec !== undefined) await runPreStop(runtime, { container: spec, id }, graceMs, none);
      await runtime.stop(id, { graceMs: Math.max(0, until - performance.now()), shutdown: true });
    }),
  );
  // One that does not end keeps its own volumes busy, and nobody else's.
  for (const stop of stops)
    if (stop.status === "rejected") logger.error({ err: stop.reason }, "a container could not be stopped");
  const here = view.pods.byIndex("node", nodeName).map(({ metadata }) => metadata.uid ?? "");
  for (const uid of new Set([...here, ...manager.podsOnDisk(), ...running.map(({ pod }) => pod.uid)])) {
    await volumes.release(uid);
  }
  const left = await manager.empty(withTimeLimit(UNMOUNT_MS));
  if (left.length > 0)
    logger.warn({ volumes: left }, "volumes of drivers that are not here stay for the next start");
}
