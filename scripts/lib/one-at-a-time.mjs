import { statSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Takes a name in Linux' abstract socket namespace: the kernel frees it however we end. Undefined: another process has it.
 */
function take(name) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error) => (error.code === "EADDRINUSE" ? resolve(undefined) : reject(error)));
    server.listen({ path: `\0${name}`, exclusive: true }, () => resolve(server));
  });
}

/** Runs `work` when no other process runs work for this folder. */
export async function oneAtATime(folder, work) {
  // Elsewhere there is no such namespace, and nothing of Mooring runs but its command line.
  if (process.platform !== "linux") return work();
  const { dev, ino } = statSync(folder);
  const name = `mooring-setup-${dev}-${ino}`;
  let server = await take(name);
  for (; server === undefined; server = await take(name)) await sleep(200);
  try {
    return await work();
  } finally {
    server.close();
  }
}
