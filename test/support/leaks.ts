import { createHost, findLeaks } from "@mooring/engine";
import { kubeletMounts } from "../../packages/cli/src/doctor/kubelet-mounts.ts";
import type { Up } from "./up.ts";

/** What no object of the running server explains: images, devices and mounts. */
export async function leaks(up: Up): Promise<string[]> {
  const store = await up.store();
  const explains = await kubeletMounts(store, up.stateDir);
  const found = await findLeaks({ store, host: createHost(), stateDir: up.stateDir, explains });
  return found.map((leak) => `${leak.kind} ${leak.subject}`);
}
