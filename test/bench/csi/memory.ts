import { readFile } from "node:fs/promises";
import type { Driver } from "../../csi/support/driver.ts";
import { capability, MIB } from "../../csi/support/volumes.ts";
import type { Measurement } from "../measure.ts";
import { rate } from "./calls.ts";

const CALLS = 50_000;
/** Growth that a garbage collector's mood explains. */
const ALLOWED = 1.15;

/** Without the files that are mapped: the kernel takes those back when it needs the memory. */
async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** One in ten makes or deletes a volume, the others read. */
function mixed({ client }: Driver): (index: number) => Promise<unknown> {
  const { identity, controller, node } = client;
  const volumeCapabilities = [capability({ access: "block" })];
  const reads = [
    () => identity.probe({}),
    () => identity.getPluginCapabilities({}),
    () => controller.listVolumes({ maxEntries: 10 }),
    () => controller.getCapacity({}),
    () => node.nodeGetInfo({}),
  ];
  return async (index) => {
    if (index % 20 !== 0) return reads[index % reads.length]?.();
    const capacityRange = { requiredBytes: MIB };
    const { volume } = await controller.createVolume({
      name: `m-${index}`,
      capacityRange,
      volumeCapabilities,
    });
    return controller.deleteVolume({ volumeId: volume?.volumeId ?? "" });
  };
}

/** Resident memory of the driver: at rest, and whether it still grows after many calls. */
export async function memory(driver: Driver): Promise<Measurement[]> {
  const { pid } = driver.process;
  const rest = await residentMiB(pid);
  const call = mixed(driver);
  // The heap grows to its working size first; what counts is whether it goes on.
  await rate(CALLS, 32, call);
  const half = await residentMiB(pid);
  await rate(CALLS, 32, call);
  const end = await residentMiB(pid);
  return [
    { name: "memory at rest", unit: "MiB", value: rest, limit: 120 },
    {
      ...{ name: `memory after ${2 * CALLS} calls`, unit: "MiB", value: end },
      ...{ baseline: half, baselineName: `after ${CALLS}`, limit: Math.round(half * ALLOWED) },
    },
  ];
}
