import { stat } from "node:fs/promises";
import type { BaseRoot } from "./base-root.ts";
import type { ContainerConfig } from "./runtime.ts";

/** Something cannot be mounted where a container wants it. */
export class MountPointError extends Error {
  /** Of the container: `mounts` or `devices`, and which of them. */
  readonly list: "mounts" | "devices";
  readonly index: number;

  constructor(message: string, list: "mounts" | "devices", index: number) {
    super(message);
    this.list = list;
    this.index = index;
  }
}

/**
 * What no pod may mount over, nor reach by a link. runc masks parts of `/proc` with the container's own `/dev/null`: who
 * brings their own `/dev` says what is shown there. A container whose root is a volume would have none of its own.
 */
const ITS_OWN: Readonly<Record<string, string>> = {
  "/": "a container's root is its image's",
  "/dev": "each container has one of its own; mount single devices, or what is below it",
};

/** The container's configuration with places that are there, and without links. */
export async function resolveTargets(
  { mountPoint }: Pick<BaseRoot, "mountPoint">,
  config: ContainerConfig,
): Promise<ContainerConfig> {
  const mounts = config.mounts.map(async (mount, index) => {
    const kind = (await stat(mount.source)).isDirectory() ? "directory" : "file";
    return { ...mount, target: refuse(await mountPoint(mount.target, kind), "mounts", index) };
  });
  const devices = config.devices.map(async (device, index) => {
    return { ...device, target: refuse(await mountPoint(device.target, "file"), "devices", index) };
  });
  return { ...config, mounts: await Promise.all(mounts), devices: await Promise.all(devices) };
}

function refuse(target: string, list: "mounts" | "devices", index: number): string {
  const why = ITS_OWN[target];
  if (why !== undefined) throw new MountPointError(`${target}: ${why}`, list, index);
  return target;
}
