// Loaded before `mooring up` in each of its threads: measures the turns of the event loop of those that others wait for. Each SIGUSR2
// writes what they were since the last one into $MOORING_TURNS, as `NUMBER-THREAD`, and begins anew.
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BroadcastChannel, isMainThread, workerData } from "node:worker_threads";
import { TurnMeter } from "../../../packages/standalone/src/apiserver/testing/turn-meter.ts";
import { measuredThread } from "./turns.ts";

const folder = process.env["MOORING_TURNS"];
const thread = measuredThread(isMainThread, workerData);

if (folder !== undefined && thread !== undefined) {
  const meter = new TurnMeter();
  meter.begin();
  const report = (number: number) => {
    const path = join(folder, `${number}-${thread}`);
    writeFileSync(`${path}.new`, JSON.stringify(meter.report()));
    renameSync(`${path}.new`, path);
    meter.begin();
  };
  const channel = new BroadcastChannel("mooring-turns");
  channel.unref();
  channel.onmessage = (message) => report((message as { data: number }).data);
  let asked = 0;
  if (isMainThread)
    process.on("SIGUSR2", () => {
      asked += 1;
      channel.postMessage(asked);
      report(asked);
    });
}
