import { Pods, type RestStore } from "@mooring/store";
import type { Daemon } from "./daemon.ts";
import { NAMESPACE as namespace } from "./manifests.ts";
import type { Progress } from "./progress.ts";
import { untilObject } from "./wait.ts";

/** What the parts of the demo share. */
export interface World {
  store: RestStore;
  daemon: Daemon;
  progress: Progress;
}

/** Waits until the Pod runs; throws when it has failed. */
export async function untilRunning({ store }: World, name: string): Promise<void> {
  await untilObject(store, Pods, { namespace, name }, (pod) => {
    if (pod.status?.phase === "Failed") throw new Error(`Pod ${name} failed: ${pod.status.message ?? ""}`);
    return pod.status?.phase === "Running";
  });
}
