import type { Driver } from "../../csi/support/driver.ts";
import { attach, createVolume, detach, MIB, remove, volumeId } from "../../csi/support/volumes.ts";
import { compared, load, type Measurement, sized } from "../measure.ts";
import type { RawImages } from "./raw.ts";

const ROUNDS = sized(20, 2);
const MANY = Number(process.env["MOORING_BENCH_VOLUMES"] ?? sized(1000, 8));
const IN_FLIGHT = 8;
const SIZE = 4n * MIB;
const BLOCK = { size: SIZE, choice: { access: "block" } } as const;
const RAW_SIZE = ["--size", `${SIZE}B`];

/** Calls one after the other, and a thousand volumes. */
export async function calls(driver: Driver, raw: RawImages): Promise<Measurement[]> {
  return [
    ...(await creation(driver, raw)),
    ...(await copies(driver, raw)),
    ...(await attachment(driver, raw)),
    ...(await thousand(driver, raw)),
  ];
}

async function creation(driver: Driver, raw: RawImages): Promise<Measurement[]> {
  const one = (round: number) => volumeId(driver, `one-${round}`, BLOCK);
  return compared("CreateVolume, 1 in flight", await load(ROUNDS, 1, one), {
    "rbd create": await load(ROUNDS, 1, (round) => raw.rbd("create", ...RAW_SIZE, `one-${round}`)),
  });
}

async function copies(driver: Driver, raw: RawImages): Promise<Measurement[]> {
  const source = await volumeId(driver, "source", BLOCK);
  await raw.rbd("create", ...RAW_SIZE, "source");
  const volumeContentSource = { type: { case: "volume" as const, value: { volumeId: source } } };
  const copy = (round: number) => createVolume(driver, `copy-${round}`, { ...BLOCK, volumeContentSource });
  const clone = async (round: number): Promise<void> => {
    await raw.rbd("snap", "create", `source@${round}`);
    await raw.rbd("clone", ...raw.destination, `source@${round}`, `copy-${round}`);
    await raw.rbd("snap", "rm", `source@${round}`);
  };
  return compared("CreateVolume from a volume", await load(ROUNDS, 1, copy), {
    "rbd snap create, clone, snap rm": await load(ROUNDS, 1, clone),
  });
}

async function attachment(driver: Driver, raw: RawImages): Promise<Measurement[]> {
  const id = await volumeId(driver, "attached", BLOCK);
  await raw.rbd("create", ...RAW_SIZE, "attached");
  const once = async (): Promise<void> => {
    await attach(driver, id, BLOCK.choice);
    await detach(driver, id);
  };
  const mapOnce = async (): Promise<void> => {
    await raw.map("attached");
    await raw.unmap("attached");
  };
  const taken = compared("ControllerPublish and Unpublish", await load(ROUNDS, 1, once), {
    "qemu-storage-daemon, losetup, and back": await load(ROUNDS, 1, mapOnce),
  });
  await remove(driver, id);
  return taken;
}

/** So many at the end, and what a list of them and one more cost then. */
async function thousand(driver: Driver, raw: RawImages): Promise<Measurement[]> {
  const many = (index: number) => volumeId(driver, `many-${index}`, BLOCK);
  const rawMany = (index: number) => raw.rbd("create", ...RAW_SIZE, `many-${index}`);
  const made = compared(`${MANY} x CreateVolume, ${IN_FLIGHT} in flight`, await load(MANY, IN_FLIGHT, many), {
    "rbd create": await load(MANY, IN_FLIGHT, rawMany),
  });
  const { controller } = driver;
  const list = await load(ROUNDS, 1, () => controller.listVolumes({}));
  const one = await load(ROUNDS, 1, (round) => volumeId(driver, `late-${round}`, BLOCK));
  return [
    ...made,
    ...compared(`ListVolumes of ${MANY}`, list, {
      "rbd ls --long": await load(sized(5, 1), 1, () => raw.rbd("ls", "--long", "--format", "json")),
    }),
    ...compared(`CreateVolume beside ${MANY}`, one, {
      "rbd create": await load(ROUNDS, 1, (round) => raw.rbd("create", ...RAW_SIZE, `late-${round}`)),
    }),
  ];
}
