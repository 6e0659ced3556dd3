import { CSIDrivers, isStatus } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { objectKey } from "../kube/patch.ts";
import type { CsiDriverStep } from "./decide.ts";
import { csiDriverFor } from "./object.ts";
import type { CsiDriverView } from "./read.ts";

/** Carries out one step. */
export async function applyCsiDriverStep(
  context: SidecarContext,
  step: CsiDriverStep,
  { csiDriver, declared }: CsiDriverView,
): Promise<void> {
  const { store, cluster, driver, events } = context;
  if (step.do === "create") {
    cluster.csiDrivers.wrote(await store.create(CSIDrivers, csiDriverFor(driver.info, declared)));
    return;
  }
  if (csiDriver === undefined) return;
  const refuse = (why: string): void => events.event(csiDriver, "Warning", "CSIDriverNotAsDeclared", why);
  if (step.do === "report") {
    refuse(step.message);
    throw new Error(step.message);
  }
  const { uid, resourceVersion } = csiDriver.metadata;
  const body = { metadata: { uid, resourceVersion }, spec: step.spec };
  try {
    cluster.csiDrivers.wrote(await store.patch(CSIDrivers, objectKey(csiDriver), { type: "merge", body }));
  } catch (error) {
    // For an older API server other fields may be immutable.
    if (isStatus(error, "Invalid")) refuse(error instanceof Error ? error.message : String(error));
    throw error;
  }
}
