import { parentPort, workerData } from "node:worker_threads";
import type { ThreadData } from "./protocol.ts";
import { runThread } from "./run.ts";

if (parentPort !== null) runThread(parentPort, workerData as ThreadData);
