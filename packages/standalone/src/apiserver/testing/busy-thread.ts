// The API server's thread, with a way to keep it busy: a request with the header `x-busy` is in its handler until the test
// has seen enough. The two numbers that both threads see are: it has begun, and it may end.
import { subscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { getEnvironmentData, parentPort, workerData } from "node:worker_threads";
import type { ThreadData } from "../thread/protocol.ts";
import { runThread } from "../thread/run.ts";

/** A test that has failed lets no other wait for longer. */
const MOST_MS = 120_000;
const flags = new Int32Array(getEnvironmentData("busy") as SharedArrayBuffer);

subscribe("http.server.request.start", (message) => {
  const { request } = message as { request: IncomingMessage };
  if (request.headers["x-busy"] === undefined) return;
  const until = Date.now() + MOST_MS;
  Atomics.store(flags, 0, 1);
  while (Atomics.load(flags, 1) === 0 && Date.now() < until);
});

if (parentPort !== null) runThread(parentPort, workerData as ThreadData);
