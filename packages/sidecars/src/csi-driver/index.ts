import { stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { applyCsiDriverStep } from "./apply.ts";
import { type CsiDriverStep, decideCsiDriver } from "./decide.ts";
import type { DeclaredCsiDriver } from "./object.ts";
import { readCsiDriver } from "./read.ts";

const failpoints = stepFailpoints<CsiDriverStep>("sidecars/csi-driver", {
  create: true,
  update: true,
  report: "throws",
});

/** Keeps the driver's CSIDriver object as it is declared, also when an administrator changes or deletes it. */
export function runCsiDriver(
  context: SidecarContext,
  declared: DeclaredCsiDriver,
  signal: AbortSignal,
): Promise<void> {
  const { cluster, driver } = context;
  const controller = sidecarController(context, {
    name: "csi-driver",
    failpoints,
    sources: [],
    // There may be no object yet whose change could begin the work.
    keys: () => [driver.info.name],
    watched: [cluster.csiDrivers],
    read: (_, from, fresh) => readCsiDriver(from, declared, fresh),
    isGone: () => false,
    decide: decideCsiDriver,
    apply: (step: CsiDriverStep, view) => applyCsiDriverStep(context, step, view),
  });
  return controller.run(signal);
}
