import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { eventually } from "@mooring/store/testing";
import { type Driver, NODE } from "../../csi/support/driver.ts";
import { capability, MIB } from "../../csi/support/volumes.ts";
import { load, type Measurement, sized } from "../measure.ts";
import { resident, settled } from "../memory/resident.ts";

const CALLS = sized(50_000, 600);
const IN_FLIGHT = 32;
/** Growth of what is alive that is still none. */
const ALLOWED = 1.15;
/** Of so many turns, one makes and deletes a volume, and one is the whole life of a volume. */
const TURNS = 200;
const BLOCK = capability({ access: "block" });
const MOUNT = capability({ fsType: "ext4" });

/** What the driver is to load (`node --require`) for {@link memory}. */
export const COLLECTS = fileURLToPath(new URL("collect.cjs", import.meta.url));

/** One turn of the mix; resolves with how many calls it has made. */
type Turn = (index: number) => Promise<number>;

const reads = ({ client: { identity, controller, node } }: Driver): (() => Promise<unknown>)[] => [
  () => identity.probe({}),
  () => identity.getPluginCapabilities({}),
  () => controller.listVolumes({ maxEntries: 10 }),
  () => controller.getCapacity({}),
  () => node.nodeGetInfo({}),
];

const pair =
  ({ controller }: Driver): Turn =>
  async (index) => {
    const capacityRange = { requiredBytes: MIB };
    const name = `pair-${index}`;
    const { volume } = await controller.createVolume({ name, capacityRange, volumeCapabilities: [BLOCK] });
    await controller.deleteVolume({ volumeId: volume?.volumeId ?? "" });
    return 2;
  };

/** Made, attached, staged, published, snapshotted while it is mounted, and everything taken away again. */
const life =
  (driver: Driver): Turn =>
  async (index) => {
    const { controller, node } = driver;
    const name = `life-${index}`;
    const paths = {
      stagingTargetPath: driver.path(`${name}-stage`),
      targetPath: driver.path(`${name}-target`),
    };
    await mkdir(paths.stagingTargetPath);
    const { volume } = await controller.createVolume({
      ...{ name, capacityRange: { requiredBytes: 16n * MIB }, volumeCapabilities: [MOUNT] },
    });
    const volumeId = volume?.volumeId ?? "";
    await controller.controllerPublishVolume({ volumeId, nodeId: NODE, volumeCapability: MOUNT });
    await node.nodeStageVolume({ volumeId, volumeCapability: MOUNT, ...paths });
    await node.nodePublishVolume({ volumeId, volumeCapability: MOUNT, ...paths });
    const { snapshot } = await controller.createSnapshot({ name, sourceVolumeId: volumeId });
    await controller.deleteSnapshot({ snapshotId: snapshot?.snapshotId ?? "" });
    await node.nodeUnpublishVolume({ volumeId, ...paths });
    await node.nodeUnstageVolume({ volumeId, ...paths });
    await controller.controllerUnpublishVolume({ volumeId, nodeId: NODE });
    await controller.deleteVolume({ volumeId });
    return 10;
  };

/** Mostly reads, as drivers are asked; {@link TURNS} is how much else. */
function mixed(driver: Driver): Turn {
  const [asked, made, lived] = [reads(driver), pair(driver), life(driver)];
  return async (index) => {
    if (index % TURNS === 0) return lived(index);
    if (index % TURNS === TURNS / 2) return made(index);
    await asked[index % asked.length]?.();
    return 1;
  };
}

/** Has the driver collect its garbage, and resolves when it has. */
async function collected(driver: Driver): Promise<void> {
  const times = () => driver.process.stdout.split("collected\n").length;
  const before = times();
  process.kill(driver.process.pid, "SIGUSR2");
  await eventually("the driver to collect its garbage", async () => times() > before);
}

/**
 * Anonymous resident memory of the driver (files that are mapped are the kernel's to take back): at rest and after calls, its garbage
 * collected, and the most while calls come. That swings: V8 lets the old generation grow to some four times what is alive before it
 * collects, and where in that swing a number of calls ends is chance (decision 0061). The driver has {@link COLLECTS} loaded.
 */
export async function memory(driver: Driver): Promise<Measurement[]> {
  const { pid } = driver.process;
  const turn = mixed(driver);
  let [calls, turns, most] = [0, 0, 0];
  const aliveAfter = async (wanted: number): Promise<number> => {
    while (calls < wanted) {
      await load(TURNS, IN_FLIGHT, async () => {
        const made = await turn(turns++);
        calls += made;
      });
      most = Math.max(most, (await resident(pid)).own);
    }
    await collected(driver);
    return (await resident(pid)).own;
  };
  const started = (await settled(pid)).own;
  const rest = await aliveAfter(0);
  const half = await aliveAfter(CALLS);
  const end = await aliveAfter(2 * CALLS);
  const unit = "MiB";
  const atRest = { baseline: rest, baselineName: "collected, at rest" };
  return [
    { name: "memory at rest", unit, value: started, limit: 120 },
    { name: "memory at rest, garbage collected", unit, value: rest },
    { name: `memory after ${CALLS} calls, garbage collected`, unit, value: half, ...atRest },
    {
      ...{ name: `memory after ${2 * CALLS} calls, garbage collected`, unit, value: end },
      ...{ limit: Math.round(half * ALLOWED), baseline: half, baselineName: `after ${CALLS}` },
    },
    { name: "most memory while calls come", unit, value: most, ...atRest },
  ];
}
