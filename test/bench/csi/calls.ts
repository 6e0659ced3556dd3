import type { Driver } from "../../csi/support/driver.ts";
import { capability, MIB } from "../../csi/support/volumes.ts";
import { compared, load, type Measurement, sized } from "../measure.ts";
import type { Echo } from "./echo-client.ts";
import { rawImage } from "./raw.ts";

export const ECHO = "node:http2 echo";
const IN_FLIGHT = 32;
const SIZE = 64n * MIB;
/** About what the response with one volume has. */
const RESPONSE_BYTES = 150;

/** Probe, which does nothing, so against a server that does nothing at all. */
export async function probes({ client }: Driver, echo: Echo): Promise<Measurement[]> {
  const probe = () => client.identity.probe({});
  const nothing = () => echo.call(2);
  for (const warm of [probe, nothing]) await load(sized(2000, 50), 8, warm);
  const results: Measurement[] = [];
  for (const [inFlight, calls] of [[1, sized(2000, 20)] as const, [IN_FLIGHT, sized(8000, 50)] as const]) {
    results.push(
      ...compared(`Probe, ${inFlight} in flight`, await load(calls, inFlight, probe), {
        [ECHO]: await load(calls, inFlight, nothing),
      }),
    );
  }
  return results;
}

/** CreateVolume and DeleteVolume, against a synced sparse file in the same pool, and against two calls that do nothing. */
export async function volumes(driver: Driver, echo: Echo, folder: string): Promise<Measurement[]> {
  const { controller } = driver;
  const volumeCapabilities = [capability({ access: "block" })];
  const both = async (index: number): Promise<void> => {
    const { volume } = await controller.createVolume({
      ...{ name: `bench-${index}`, capacityRange: { requiredBytes: SIZE }, volumeCapabilities },
    });
    await controller.deleteVolume({ volumeId: volume?.volumeId ?? "" });
  };
  const raw = (index: number) => rawImage(folder, `bench-${index}`, Number(SIZE));
  const twice = async (): Promise<void> => {
    await echo.call(RESPONSE_BYTES);
    await echo.call(0);
  };
  for (const warm of [both, twice]) await load(sized(100, 4), 4, warm);
  const results: Measurement[] = [];
  for (const [inFlight, pairs] of [[1, sized(200, 3)] as const, [IN_FLIGHT, sized(1000, 40)] as const]) {
    results.push(
      ...compared(`CreateVolume+DeleteVolume, ${inFlight} in flight`, await load(pairs, inFlight, both), {
        "sparse file, fsync, unlink": await load(pairs, inFlight, raw),
        [`2 x ${ECHO}`]: await load(pairs, inFlight, twice),
      }),
    );
  }
  return results;
}
