import { join } from "node:path";
import { breakPool } from "../support/break-pool.ts";
import { aClaim, aClass, aPod } from "./objects.ts";
import type { Situation } from "./situation.ts";

/** A pool of its own, so that what breaks it leaves the volumes of other situations alone, and a pod that writes into it. */
function givesUp(name: string, type: "xfs" | "btrfs"): Pick<Situation, "objects" | "breaks"> {
  const script = "while :; do date >> /data/log || :; sync -f /data || :; sleep 1; done";
  const pod = aPod("web", script, { "/data": "data" });
  return {
    objects: [aClass(name, { parameters: { pool: name } })],
    breaks: async ({ up, kubectl, namespace }) => {
      const apply = (object: object) => kubectl.apply(JSON.stringify(object));
      const spec = { type, nodeID: "node-a", path: join(up.stateDir, "pools", name), size: 512 << 20 };
      await apply({
        ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "Pool" },
        ...{ metadata: { name }, spec },
      });
      await kubectl.run("wait", "--for=jsonpath={.status.ready}=true", `pool/${name}`, "--timeout=120s");
      for (const object of [aClaim("data", { className: name }), pod])
        await apply({ ...object, metadata: { ...object.metadata, namespace } });
      await kubectl.run("wait", "--for=condition=Ready", "pod/web", "-n", namespace, "--timeout=120s");
      await breakPool(up.stateDir, { name, type });
    },
  };
}

export const POOLS: readonly Situation[] = [
  {
    name: "an XFS pool whose file system has shut itself down",
    ...givesUp("shut-down", "xfs"),
    target: "pod/web",
    cause: /Pool shut-down: is not ready: the xfs file system at \S+ .*every write to its volumes fails/,
    next: /kubectl delete pod -n \S+ web/,
    doctor:
      /Pool shut-down +fail +the xfs file system at [\s\S]*next: Pool shut-down: kubectl delete pod -n NS web/,
  },
  {
    name: "a btrfs pool whose device fails",
    ...givesUp("read-only", "btrfs"),
    target: "pvc/data",
    cause: /Pool read-only: is not ready: the btrfs file system at \S+ .*every write to its volumes fails/,
    next: /kubectl delete pod -n \S+ web/,
    doctor:
      /Pool read-only +fail +the btrfs file system at [\s\S]*next: Pool read-only: kubectl delete pod -n NS web/,
  },
];
