import { once } from "node:events";
import { createServer } from "node:net";
import { EngineError } from "../../errors.ts";

const FIRST = 20_490;
const COUNT = 4000;
const TRIES = 50;

/**
 * A TCP port on which no process listens at this address. The one of the last server comes first:
 * clients have it and come back to it by themselves.
 */
export async function choosePort(address: string, last: number | undefined): Promise<number> {
  if (last !== undefined && (await isFree(address, last))) return last;
  for (let tries = 0; tries < TRIES; tries++) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (await isFree(address, port)) return port;
  }
  throw new EngineError("RESOURCE_EXHAUSTED", `no free port between ${FIRST} and ${FIRST + COUNT - 1}`);
}

async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
