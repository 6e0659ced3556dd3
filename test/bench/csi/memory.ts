import { mkdir, readFile } from "node:fs/promises";
import { type Driver, NODE } from "../../csi/support/driver.ts";
import { capability, MIB } from "../../csi/support/volumes.ts";
import { load, type Measurement, sized } from "../measure.ts";

const CALLS = sized(50_000, 600);
const IN_FLIGHT = 32;
/** Growth that a garbage collector's mood explains. */
const ALLOWED = 1.15;
/** Of so many turns, one makes and deletes a volume, and one is the whole life of a volume. */
const TURNS = 200;
const BLOCK = capability({ access: "block" });
const MOUNT = capability({ fsType: "ext4" });

/** One turn of the mix; resolves with how many calls it has made. */
type Turn = (index: number) => Promise<number>;

/** Without the files that are mapped: the kernel takes those back when it needs the memory. */
async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024;
}

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

/** Resident memory of the driver: at rest, and whether it still grows after many calls. */
export async function memory(driver: Driver): Promise<Measurement[]> {
  const { pid } = driver.process;
  const turn = mixed(driver);
  let [calls, turns] = [0, 0];
  const callsMade = async (wanted: number): Promise<number> => {
    while (calls < wanted) {
      await load(TURNS, IN_FLIGHT, async () => {
        const made = await turn(turns++);
        calls += made;
      });
    }
    return residentMiB(pid);
  };
  const rest = await residentMiB(pid);
  // The heap grows to its working size first; what counts is whether it goes on.
  const half = await callsMade(CALLS);
  const end = await callsMade(2 * CALLS);
  const unit = "MiB";
  return [
    { name: "memory at rest", unit, value: rest, limit: 120 },
    { name: `memory after ${CALLS} calls`, unit, value: half, baseline: rest, baselineName: "at rest" },
    {
      ...{ name: `memory after ${2 * CALLS} calls`, unit, value: end, limit: Math.round(half * ALLOWED) },
      ...{ baseline: half, baselineName: `after ${CALLS}` },
    },
  ];
}
