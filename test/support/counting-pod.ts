import { eventually } from "@mooring/store/testing";
import type { Kubectl } from "./kubectl.ts";
import { claim, pod } from "./manifests.ts";

/** A claim `data`, and a pod `web` that adds a line to a file in it at each of its starts. Resolves when it has at the first. */
export async function startCountingPod(kubectl: Kubectl): Promise<void> {
  await kubectl.apply(JSON.stringify(claim("default", "data")));
  const web = pod("default", "web", "echo kept >> /data/word; exec sleep infinity", {
    mounts: { "/data": "data" },
  });
  await kubectl.apply(JSON.stringify({ ...web, spec: { ...web.spec, restartPolicy: "Always" } }));
  await hasStarted(kubectl, 1);
}

/** It is Ready a moment before its command has run. */
export async function hasStarted(kubectl: Kubectl, times: number): Promise<void> {
  await kubectl.run("wait", "--for=condition=Ready", "pod/web", "--timeout=120s");
  let read = "";
  await eventually(
    `the pod to have written ${times} lines`,
    async () => {
      read = await kubectl.run("exec", "web", "--", "cat", "/data/word").catch(String);
      return read === "kept\n".repeat(times);
    },
    { everyMs: 250, lastSeen: () => read },
  );
}
