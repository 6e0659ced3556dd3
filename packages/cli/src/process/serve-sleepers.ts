import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import { lastingSleepers, reconcileCounts, type Sleeper, takeEndless } from "@mooring/store";

/** Names a unix socket, for tests: who connects gets, as JSON, the steps that this process has forgotten. */
const SOCKET = "MOORING_SLEEPERS_SOCKET";

/**
 * Sends everybody who connects to the socket the steps that are due and that no event has asked for, with how many a resync
 * has had to find, and which came to no end; `[]` as it should be. Does nothing without the variable, and keeps no process alive.
 */
export async function serveSleepers(env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const path = env[SOCKET];
  if (path === undefined || path === "") return;
  await rm(path, { force: true });
  const server = createServer((socket) => {
    socket.on("error", () => {});
    lastingSleepers().then(
      (sleepers) => socket.end(JSON.stringify([...sleepers, ...foundByResyncs(), ...withoutEnd()])),
      (error: Error) => socket.destroy(error),
    );
  });
  // Only who may write to the socket can connect: its owner.
  server.listen(path).unref();
}

function foundByResyncs(): Sleeper[] {
  return [...reconcileCounts()]
    .filter(([, { resyncFound }]) => resyncFound > 0)
    .map(([controller, { resyncFound }]) => ({
      controller,
      key: "",
      step: `${resyncFound} found by resyncs`,
    }));
}

function withoutEnd(): Sleeper[] {
  return takeEndless().map((step) => ({ controller: "without end:", key: "", step }));
}
