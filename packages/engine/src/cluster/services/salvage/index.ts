import { failpoint } from "@mooring/store";
import type { Volume } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import { runVolumeService } from "../tickets/volume-controller.ts";
import { decide } from "./decide.ts";

const gaps = {
  taken: failpoint("engine/services/salvage/ticket-taken"),
  released: failpoint("engine/services/salvage/ticket-released"),
};

/** Holds faulted volumes for their repair; the node's agent finds the fault and mends it. */
export function runSalvages(context: ServicesContext): Promise<void> {
  const plan = async ({ now }: ServicesContext, volume: Volume) => decide(volume, now());
  return runVolumeService(context, { name: "salvage", gaps, plan });
}
