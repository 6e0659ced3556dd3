import type { Driver } from "../../csi/support/driver.ts";
import { attach, detach, MIB, volumeId } from "../../csi/support/volumes.ts";
import { deviceOf } from "../csi/data-path.ts";
import { type Measurement, sized } from "../measure.ts";
import { FIO_JOBS, filled, fio } from "../support/fio.ts";
import type { RawImages } from "./raw.ts";

const SIZE = BigInt(sized(1024, 96)) * MIB;
const BLOCK = { access: "block" } as const;

/** fio on a volume's device, and on that of an image that was mapped by hand. */
export async function dataPath(driver: Driver, raw: RawImages): Promise<Measurement[]> {
  const id = await volumeId(driver, "data", { size: SIZE, choice: BLOCK });
  await attach(driver, id, BLOCK);
  await raw.rbd("create", "--size", `${SIZE}B`, "data");
  const [device, mapped] = [await filled(await deviceOf(id)), await filled(await raw.map("data"))];
  const results: Measurement[] = [];
  for (const job of FIO_JOBS) {
    const baseline = await fio(job, mapped);
    const value = await fio(job, device);
    results.push({ ...{ name: job.name, unit: job.unit, value }, baseline, baselineName: "mapped by hand" });
  }
  await detach(driver, id);
  return results;
}
