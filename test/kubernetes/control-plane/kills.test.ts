import { after, test } from "node:test";
import "@mooring/sidecars";
import { failpointNames } from "@mooring/store";
import { killEveryFailpoint } from "@mooring/store/testing";
import { killedAndAbandoned, killedAt, startWorld, type World } from "./killed-planes.ts";
import { missing } from "./server.ts";

const CONTROLLERS = [
  ...["provision", "reclaim", "source-protection", "attach", "resize"],
  ...["snapshot", "snapshot-content", "group-snapshot", "group-snapshot-content"],
];
/**
 * Behind what nobody asks for here: what is wrong, imported, adopted from others or given up, and what this driver leaves to no
 * node. packages/sidecars/src/crash/crash.test.ts leads there, on a store of its own.
 */
const NOT_HERE = [
  /\/(report|report-attached|set-class|bind-content|inspect-data|ask-again|freeze-asked-again)$/,
  /\/(snapshot-content|group-snapshot-content|reclaim)\/add-finalizer$/,
  /\/(mark-being-created|add-finalizer-to-claim)$/,
  /\/provision\/(announce-populator|reschedule|delete-volume|volume-removed)$/,
  /\/attach\/(volume-protected|mark-detached|release-volume)$/,
  /\/resize\/(assume-expanded|forget-pre-resize|hand-to-node|withdraw)$/,
];
/** Where something exists that only the driver and a note of ours know about. */
const UNSETTLED =
  /provision\/(save-intent|volume-created|create-volume|create-pv)|snapshot-content\/(data-created|create-data|write-status)|snapshot\/create-content|attach\/(attachment-protected|published)/;

const failpoints = failpointNames().filter((name) => {
  const [of, controller = ""] = name.split("/");
  const isMet = !NOT_HERE.some((elsewhere) => elsewhere.test(name));
  return of === "sidecars" && CONTROLLERS.includes(controller) && isMet;
});

/** One for all: when a life has failed, the next one begins on another. */
let world: Promise<World> | undefined;
after(async () => (await world)?.end());

async function live(life: (on: World) => Promise<void>): Promise<void> {
  world ??= startWorld();
  const on = await world;
  try {
    await life(on);
  } catch (error) {
    world = undefined;
    // What a life that has failed has left is no failure of its own.
    await on.end().catch(() => {});
    throw error;
  }
}

const skip = missing() ?? false;

killEveryFailpoint(failpoints, { everyday: 1, full: 6 }, (failpoint) => {
  test(
    `killed at ${failpoint}, on a real API server around a driver with real volumes: another one goes on, and nothing is left`,
    {
      skip,
    },
    () => live((on) => killedAt(on, failpoint)),
  );
});

const unsettled = failpoints.filter((name) => UNSETTLED.test(name));

killEveryFailpoint(unsettled, { everyday: 1, full: 3 }, (failpoint) => {
  test(
    `killed at ${failpoint}, and everything is deleted before another one comes: nothing is left`,
    {
      skip,
    },
    () => live((on) => killedAndAbandoned(on, failpoint)),
  );
});
