import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Driver, NODE } from "../../csi/support/driver.ts";
import { capability, MIB, remove, volumeId } from "../../csi/support/volumes.ts";
import { compared, type Load, load, type Measurement, sized } from "../measure.ts";
import { ECHO } from "./calls.ts";
import type { Echo } from "./echo-client.ts";
import { rawDevice, rawMount } from "./raw.ts";

const SIZE = 64n * MIB;
const volumeCapability = capability({ fsType: "ext4" });

/** Work on something that is made before the clock runs, and taken away after it has stopped. */
interface Prepared {
  work(): Promise<unknown>;
  undo(): Promise<void>;
}

async function loadOfPrepared(
  count: number,
  inFlight: number,
  prepare: (name: string) => Promise<Prepared>,
): Promise<Load> {
  const all: Prepared[] = [];
  try {
    for (let index = 0; index < count; index += 1) all.push(await prepare(`mount-${inFlight}-${index}`));
    return await load(count, inFlight, async (index) => all[index]?.work());
  } finally {
    for (const { undo } of all) await undo();
  }
}

async function ours(driver: Driver, name: string): Promise<Prepared> {
  const { controller, node } = driver;
  const id = await volumeId(driver, name, { size: SIZE, choice: { fsType: "ext4" } });
  await controller.controllerPublishVolume({ volumeId: id, nodeId: NODE, volumeCapability });
  const stagingTargetPath = driver.path(`${name}-stage`);
  const targetPath = driver.path(`${name}-target`);
  return {
    work: async () => {
      await node.nodeStageVolume({ volumeId: id, volumeCapability, stagingTargetPath });
      await node.nodePublishVolume({ volumeId: id, volumeCapability, stagingTargetPath, targetPath });
    },
    undo: async () => {
      await node.nodeUnpublishVolume({ volumeId: id, targetPath });
      await node.nodeUnstageVolume({ volumeId: id, stagingTargetPath });
      await controller.controllerUnpublishVolume({ volumeId: id, nodeId: NODE });
      await remove(driver, id);
    },
  };
}

async function byHand(folder: string, name: string): Promise<Prepared> {
  const { device, release } = await rawDevice(join(folder, name), Number(SIZE));
  let unmount = async (): Promise<void> => {};
  return {
    work: async () => {
      unmount = await rawMount(device, join(folder, `${name}-stage`), join(folder, `${name}-target`));
    },
    undo: async () => {
      await unmount();
      await release();
    },
  };
}

/**
 * The first NodeStage and NodePublish of a volume, so with mkfs; against the same commands by hand, and against two
 * calls that do nothing.
 */
export async function mounts(driver: Driver, echo: Echo, folder: string): Promise<Measurement[]> {
  await mkdir(folder, { recursive: true });
  const twice = async (): Promise<void> => {
    await echo.call(0);
    await echo.call(0);
  };
  const results: Measurement[] = [];
  for (const [inFlight, count] of [[1, sized(30, 2)] as const, [8, sized(64, 8)] as const]) {
    const name = `NodeStage+NodePublish, first time, ${inFlight} in flight`;
    results.push(
      ...compared(name, await loadOfPrepared(count, inFlight, (id) => ours(driver, id)), {
        "mkfs, mount, bind mount": await loadOfPrepared(count, inFlight, (id) => byHand(folder, id)),
        [`2 x ${ECHO}`]: await load(10 * count, inFlight, twice),
      }),
    );
  }
  return results;
}
