// A driver in a process of its own, for the suites of others.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { ROOT } from "../../../scripts/lib/setup.mjs";

const START_DEADLINE_MS = 60_000;

/**
 * Runs node with `args` until its socket is there. `stop` asks it to end and resolves with its exit code, or the signal
 * that ended it; or with what one of ours has to do that no event has asked for. Throws, with what it has said, when it ends before it listens or does not listen in time.
 */
export async function startDriver(args, socket, env = {}) {
  let log = "";
  const sleepers = `${socket}.sleepers`;
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, CSI_ENDPOINT: `unix://${socket}`, MOORING_SLEEPERS_SOCKET: sleepers, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (log += chunk));
  let code;
  const ended = new Promise((resolve) => {
    child.once("exit", (status, signal) => {
      code = status ?? signal;
      resolve(code);
    });
  });
  const stop = async () => {
    const asleep = code === undefined && existsSync(sleepers) ? await text(connect(sleepers)) : "[]";
    child.kill("SIGTERM");
    const end = await ended;
    return asleep === "[]" ? end : `asleep: ${asleep}`;
  };
  const deadline = Date.now() + START_DEADLINE_MS;
  while (!existsSync(socket)) {
    if (code !== undefined) throw new Error(`the driver ended with ${code}:\n${log}`);
    if (Date.now() > deadline) {
      await stop();
      throw new Error(`the driver did not listen within ${START_DEADLINE_MS} ms:\n${log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { stop, log: () => log };
}
