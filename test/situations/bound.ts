import { join } from "node:path";
import type { World } from "./situation.ts";

/** Where a command runs. */
type Here = Pick<World, "kubectl" | "namespace">;

/** Until the claim `data` of the situation has a volume. */
export const untilBound = ({ kubectl, namespace }: Here): Promise<string> =>
  kubectl.run("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/data", "-n", namespace, "--timeout=120s");

/** The claim's PersistentVolume, once there is one. */
export async function pvOf(here: Here): Promise<string> {
  await untilBound(here);
  const path = "jsonpath={.spec.volumeName}";
  return here.kubectl.run("get", "pvc", "data", "-n", here.namespace, "-o", path);
}

/** Our volume of the claim, once there is one. */
export async function volumeOf(here: Here): Promise<string> {
  return here.kubectl.run("get", "pv", await pvOf(here), "-o", "jsonpath={.spec.csi.volumeHandle}");
}

/** Where this volume has its data. */
export const imageOf = (volume: string, { up }: Pick<World, "up">): string =>
  join(up.stateDir, "pools/default/mnt/images", `${volume}.img`);
