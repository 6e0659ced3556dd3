import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { type CsiClient, v1 } from "@mooring/csi";
import type { Driver } from "../../csi/support/driver.ts";
import { capability, MIB } from "../../csi/support/volumes.ts";
import { compared, load, type Measurement, sized, time } from "../measure.ts";
import { ECHO } from "./calls.ts";
import type { Echo } from "./echo-client.ts";

const LISTED = sized(10_000, 150);
const PAGE = 100;
const IN_FLIGHT = 32;
const ROUNDS = sized(20, 2);

type ListResponse = Awaited<ReturnType<CsiClient["controller"]["listVolumes"]>>;

const bytesOf = (response: ListResponse): number =>
  toBinary(v1.ListVolumesResponseSchema, create(v1.ListVolumesResponseSchema, response)).length;

function require(seen: number, where: string): void {
  if (seen !== LISTED) throw new Error(`${where} has ${seen} volumes, not ${LISTED}`);
}

/** The same by hand: the images in the pool and their sizes. */
async function rawList(driver: Driver): Promise<void> {
  const images = join(driver.stateDir, "pools", "default", "mnt", "images");
  const sizes = await Promise.all((await readdir(images)).map((name) => stat(join(images, name))));
  require(sizes.length, images);
}

async function allPages({ controller }: Driver): Promise<void> {
  let [seen, startingToken] = [0, ""];
  do {
    const { entries, nextToken } = await controller.listVolumes({ maxEntries: PAGE, startingToken });
    seen += entries.length;
    startingToken = nextToken;
  } while (startingToken !== "");
  require(seen, "the list of all pages");
}

/** ListVolumes of ten thousand, against the same read of the disk, and against a response of as many bytes. */
export async function listing(driver: Driver, echo: Echo): Promise<Measurement[]> {
  const { controller } = driver;
  const ids: string[] = [];
  await load(LISTED, IN_FLIGHT, async (index) => {
    const { volume } = await controller.createVolume({
      ...{ name: `listed-${index}`, capacityRange: { requiredBytes: MIB } },
      volumeCapabilities: [capability({ access: "block" })],
    });
    ids.push(volume?.volumeId ?? "");
  });
  const bytes = bytesOf(await controller.listVolumes({}));
  const pageBytes = bytesOf(await controller.listVolumes({ maxEntries: PAGE }));
  const all = await load(ROUNDS, 1, async () => {
    require((await controller.listVolumes({})).entries.length, "the list");
  });
  const page = await load(ROUNDS, 1, () => controller.listVolumes({ maxEntries: PAGE }));
  const pages = await time(sized(3, 1), () => allPages(driver));
  const measured = [
    ...compared(`ListVolumes of ${LISTED}`, all, {
      "readdir, stat": await load(ROUNDS, 1, () => rawList(driver)),
      [`${ECHO} of as many bytes`]: await load(ROUNDS, 1, () => echo.call(bytes)),
    }),
    ...compared(`a page of ${PAGE} of ${LISTED}`, page, {
      [`${ECHO} of as many bytes`]: await load(ROUNDS, 1, () => echo.call(pageBytes)),
    }),
    {
      ...{ name: `all pages of ${PAGE} of ${LISTED}, one after the other`, unit: "ms" },
      ...{ value: pages, baseline: all.p50, baselineName: "all at once" },
    },
  ];
  await load(LISTED, IN_FLIGHT, (index) => controller.deleteVolume({ volumeId: ids[index] ?? "" }));
  return measured;
}
