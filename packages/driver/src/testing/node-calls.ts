import { stat } from "node:fs/promises";
import { type CapabilityChoice, capability, type World } from "./world.ts";

/** Calls that most tests of a node make, short; `world` is asked for at each call, as it is there only when tests run. */
export function nodeCalls(world: () => World) {
  return {
    publish: (
      volumeId: string,
      stagingTargetPath: string,
      targetPath: string,
      { more = {}, choice = {} }: { more?: object; choice?: CapabilityChoice } = {},
    ) =>
      world().client.node.nodePublishVolume({
        ...{ volumeId, stagingTargetPath, targetPath, volumeCapability: capability(choice) },
        ...more,
      }),
    unpublish: (volumeId: string, targetPath: string) =>
      world().client.node.nodeUnpublishVolume({ volumeId, targetPath }),
    remove: (volumeId: string) => world().client.controller.deleteVolume({ volumeId }),
  };
}

/** Nothing is at this path. */
export function gone(path: string): Promise<boolean> {
  return stat(path).then(
    () => false,
    () => true,
  );
}
