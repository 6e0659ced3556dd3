import { isDeepStrictEqual } from "node:util";
import { delay, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { csiDriverFor, type DeclaredCsiDriver } from "../csi-driver/object.ts";
import { applyRegistration } from "./apply.ts";
import { decideRegistration, type NodeInfo, type RegistrationStep } from "./decide.ts";
import { LastSeen, nodeInfo, readRegistration } from "./read.ts";

/** What a registration has where the driver itself reports nothing. */
export interface RegistrationOptions {
  /** What the CSIDriver object gets where it does not exist yet; the rest follows from the capabilities. */
  csiDriver: DeclaredCsiDriver | ((driver: string) => DeclaredCsiDriver);
  /** Whether a CSIDriver object that does not exist is made; default true. Else it comes with the driver's manifests. */
  createsCsiDriver: boolean;
  /** Milliseconds before a CSIDriver that an administrator has deleted is put back; default 10,000. */
  replaceMs: number;
  /** Milliseconds between two calls for the node's limits (NodeGetInfo); default 10,000. */
  askMs: number;
}

const failpoints = stepFailpoints<RegistrationStep>("sidecars/node-registration", {
  "create-csi-driver": true,
  "create-csi-node": true,
  "update-csi-node": true,
  "update-node": true,
  report: "throws",
});

/** Keeps the node known as one of the driver's: CSIDriver, CSINode, the node's annotation and labels. */
export async function runNodeRegistration(
  context: SidecarContext,
  nodeName: string,
  given: Partial<RegistrationOptions>,
  signal: AbortSignal,
): Promise<void> {
  const { cluster, driver } = context;
  let info: NodeInfo | undefined;
  const known = async (): Promise<NodeInfo> => {
    info ??= await nodeInfo(context, signal);
    return info;
  };
  const { createsCsiDriver = true, csiDriver: overrides = {}, replaceMs = 10_000, askMs = 10_000 } = given;
  const described = typeof overrides === "function" ? overrides(driver.info.name) : overrides;
  const last = new LastSeen(context.now, replaceMs);
  const controller = sidecarController(context, {
    name: "node-registration",
    failpoints,
    sources: [],
    // There may be no object yet whose change could begin the work.
    keys: () => ["node"],
    watched: [cluster.nodes, cluster.csiNodes, cluster.csiDrivers],
    read: async (_, from, fresh) =>
      readRegistration(from, { nodeName, info: await known(), createsCsiDriver, last }, fresh),
    isGone: () => false,
    decide: decideRegistration,
    apply: (step: RegistrationStep, view) =>
      applyRegistration(context, step, view, last.object ?? csiDriverFor(driver.info, described)),
  });
  const asking = askAgain(context, { askMs, signal }, (now) => {
    if (info === undefined || isDeepStrictEqual(now, info)) return;
    context.logger.info({ before: info, now }, "the driver reports something else about its node");
    info = now;
    controller.add("node");
  });
  await Promise.all([controller.run(signal), asking]);
}

/** A driver that was started anew may have other limits or be at another place, and sends no event. */
async function askAgain(
  context: SidecarContext,
  { askMs, signal }: { askMs: number; signal: AbortSignal },
  heard: (info: NodeInfo) => void,
): Promise<void> {
  while (!signal.aborted) {
    await delay(askMs, signal).catch(() => {});
    if (signal.aborted) return;
    // The health controller reports whether it responds.
    await nodeInfo(context, signal).then(heard, () => {});
  }
}
