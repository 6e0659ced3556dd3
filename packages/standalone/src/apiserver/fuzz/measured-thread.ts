// The API server's thread of a fuzz: as it is, and it measures its turns. What is asked of it comes on a channel.
import { BroadcastChannel, parentPort, workerData } from "node:worker_threads";
import { TurnMeter } from "../testing/turn-meter.ts";
import type { ThreadData } from "../thread/protocol.ts";
import { runThread } from "../thread/run.ts";
import { CHANNEL, type ToMeter } from "./talk.ts";

const meter = new TurnMeter();
const channel = new BroadcastChannel(CHANNEL);
channel.onmessage = (message) => {
  const { data } = message as { data: ToMeter };
  if (data === "begin") meter.begin();
  else if (data === "report") channel.postMessage(meter.report());
};
channel.unref();

if (parentPort !== null) runThread(parentPort, workerData as ThreadData);
