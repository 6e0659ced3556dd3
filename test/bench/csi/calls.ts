import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Driver } from "../../csi/support/driver.ts";
import { NODE } from "../../csi/support/driver.ts";
import { capability, MIB, remove, volumeId } from "../../csi/support/volumes.ts";
import { type Measurement, time } from "../measure.ts";
import type { Echo } from "./echo-client.ts";
import { rawImage, rawMount, withRawDevice } from "./raw.ts";

const IN_FLIGHT = 32;
const SIZE = 64n * MIB;
const LISTED = 10_000;
const block = capability({ access: "block" });

/** Milliseconds per call when `workers` make `calls` of them side by side. */
export async function rate(
  calls: number,
  workers: number,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < calls) await work(next++);
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: workers }, worker));
  return (performance.now() - start) / calls;
}

/** Probe, against a server that does nothing at all. */
export async function probes({ client }: Driver, echo: Echo): Promise<Measurement[]> {
  const probe = () => client.identity.probe({});
  const nothing = () => echo.call(2);
  for (const warm of [probe, nothing]) await rate(500, 8, warm);
  const baselineName = "node:http2 echo";
  return [
    {
      ...{ name: "Probe, 1 in flight", unit: "ms", baselineName },
      value: await rate(1000, 1, probe),
      baseline: await rate(1000, 1, nothing),
    },
    {
      ...{ name: `Probe, ${IN_FLIGHT} in flight`, unit: "ms per call", baselineName },
      value: await rate(4000, IN_FLIGHT, probe),
      baseline: await rate(4000, IN_FLIGHT, nothing),
    },
  ];
}

/** CreateVolume and DeleteVolume, against a synced sparse file in the same pool. */
export async function volumes(driver: Driver, folder: string): Promise<Measurement[]> {
  const { controller } = driver;
  const both = async (index: number): Promise<void> => {
    const { volume } = await controller.createVolume({
      ...{ name: `bench-${index}`, capacityRange: { requiredBytes: SIZE }, volumeCapabilities: [block] },
    });
    await controller.deleteVolume({ volumeId: volume?.volumeId ?? "" });
  };
  const raw = (index: number) => rawImage(folder, `bench-${index}`, Number(SIZE));
  await rate(20, 4, both);
  const baselineName = "sparse file, fsync, unlink";
  return [
    {
      ...{ name: "CreateVolume+DeleteVolume, 1 in flight", unit: "ms", baselineName },
      value: await rate(50, 1, both),
      baseline: await rate(50, 1, raw),
    },
    {
      ...{ name: `CreateVolume+DeleteVolume, ${IN_FLIGHT} in flight`, unit: "ms per pair", baselineName },
      value: await rate(500, IN_FLIGHT, both),
      baseline: await rate(500, IN_FLIGHT, raw),
    },
  ];
}

/** The first NodeStage and NodePublish of a volume, so with mkfs; against the same commands by hand. */
export async function mounts(driver: Driver, folder: string): Promise<Measurement[]> {
  const volumeCapability = capability({ fsType: "ext4" });
  const { controller, node } = driver;
  const one = async (round: number): Promise<number> => {
    const id = await volumeId(driver, `mount-${round}`, { size: SIZE });
    await controller.controllerPublishVolume({ volumeId: id, nodeId: NODE, volumeCapability });
    const paths = {
      stagingTargetPath: driver.path(`stage-${round}`),
      targetPath: driver.path(`target-${round}`),
    };
    const taken = await time(1, async () => {
      await node.nodeStageVolume({ volumeId: id, volumeCapability, ...paths });
      await node.nodePublishVolume({ volumeId: id, volumeCapability, ...paths });
    });
    await node.nodeUnpublishVolume({ volumeId: id, ...paths });
    await node.nodeUnstageVolume({ volumeId: id, ...paths });
    await controller.controllerUnpublishVolume({ volumeId: id, nodeId: NODE });
    await remove(driver, id);
    return taken;
  };
  const raw = (round: number) =>
    withRawDevice(join(folder, `mount-${round}`), Number(SIZE), async (device) => {
      let undo = async (): Promise<void> => {};
      const taken = await time(1, async () => {
        undo = await rawMount(device, join(folder, `stage-${round}`), join(folder, `target-${round}`));
      });
      await undo();
      return taken;
    });
  await mkdir(folder, { recursive: true });
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round < 7; round += 1) {
    ours.push(await one(round));
    theirs.push(await raw(round));
  }
  const middle = (list: number[]) =>
    [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? Number.NaN;
  return [
    {
      ...{
        name: "NodeStage+NodePublish, first time",
        unit: "ms",
        value: middle(ours),
        baseline: middle(theirs),
      },
      baselineName: "mkfs, mount, bind mount",
    },
  ];
}

/** ListVolumes of ten thousand, against an answer of as many bytes. */
export async function listing(driver: Driver, echo: Echo): Promise<Measurement[]> {
  const { controller } = driver;
  const name = (index: number) => `listed-${index}`;
  const ids = new Map<number, string>();
  await rate(LISTED, IN_FLIGHT, async (index) => {
    const { volume } = await controller.createVolume({
      ...{ name: name(index), capacityRange: { requiredBytes: MIB }, volumeCapabilities: [block] },
    });
    ids.set(index, volume?.volumeId ?? "");
  });
  let bytes = 0;
  const all = await time(5, async () => {
    const { entries } = await controller.listVolumes({});
    if (entries.length !== LISTED) throw new Error(`${entries.length} volumes are listed, not ${LISTED}`);
    bytes = entries.length * 130;
  });
  const page = await time(5, async () => {
    await controller.listVolumes({ maxEntries: 100 });
  });
  const pages = await time(1, async () => {
    for (let startingToken = "", seen = 0; ; ) {
      const { entries, nextToken } = await controller.listVolumes({ maxEntries: 100, startingToken });
      seen += entries.length;
      startingToken = nextToken;
      if (startingToken !== "") continue;
      if (seen !== LISTED) throw new Error(`the pages have ${seen} volumes, not ${LISTED}`);
      break;
    }
  });
  const echoed = await time(5, () => echo.call(bytes));
  const echoedPage = await time(5, () => echo.call(bytes / 100));
  const measured = [
    {
      name: `ListVolumes of ${LISTED}`,
      unit: "ms",
      value: all,
      baseline: echoed,
      baselineName: "echo of as many bytes",
    },
    {
      name: `all pages of 100 of ${LISTED}, one after the other`,
      unit: "ms",
      value: pages,
      baseline: all,
      baselineName: "all at once",
    },
    {
      name: `a page of 100 of ${LISTED}`,
      unit: "ms",
      value: page,
      baseline: echoedPage,
      baselineName: "echo of as many bytes",
    },
  ];
  await rate(LISTED, IN_FLIGHT, (index) => controller.deleteVolume({ volumeId: ids.get(index) ?? "" }));
  return measured;
}
