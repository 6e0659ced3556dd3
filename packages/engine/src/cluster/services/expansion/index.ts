import { failpoint } from "@mooring/store";
import type { ServicesContext } from "../context.ts";
import { runVolumeService } from "../tickets/volume-controller.ts";
import { decide } from "./decide.ts";

const gaps = {
  taken: failpoint("engine/services/expansion/ticket-taken"),
  released: failpoint("engine/services/expansion/ticket-released"),
};

/** Holds volumes whose file system has to grow while nobody uses it; the node's agent grows it. */
export function runExpansions(context: ServicesContext): Promise<void> {
  const plan = async ({ now }: ServicesContext, volume: Parameters<typeof decide>[0]) =>
    decide(volume, now());
  return runVolumeService(context, { name: "expansion", gaps, plan });
}
