import type { CSIDriver } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import type { DeclaredCsiDriver } from "./object.ts";

/** A driver's CSIDriver object, and what it is to be. */
export interface CsiDriverView {
  csiDriver: CSIDriver | undefined;
  declared: DeclaredCsiDriver;
}

/** From the cache, or from the server itself. */
export async function readCsiDriver(
  { cluster, driver }: SidecarContext,
  declared: DeclaredCsiDriver,
  fresh: boolean,
): Promise<CsiDriverView> {
  const { csiDrivers } = cluster;
  const { name } = driver.info;
  return { declared, csiDriver: fresh ? await csiDrivers.refresh(name) : csiDrivers.get(name) };
}
