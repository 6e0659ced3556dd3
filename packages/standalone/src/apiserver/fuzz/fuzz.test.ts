import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { defined } from "@mooring/store";
import { bundleProgram, howMany } from "@mooring/store/testing";
import type { HttpClient } from "../testing/http-client.ts";
import type { Turns } from "../testing/turn-meter.ts";
import { bindUntrusted, type FuzzServer, startFuzzServer } from "./child.ts";
import { EXAMPLES } from "./examples.ts";
import { type Collection, type FuzzRequest, requestOf } from "./requests.ts";

const COUNT = howMany({ everyday: 80, full: 4_000, deep: 100_000 });
/** `MOORING_SEED` repeats a run. */
const seed = Number(process.env.MOORING_SEED ?? Math.floor(Date.now() / 86_400_000));
/** The first ones are slow because nothing has been compiled yet. */
const WARM_UP = 500;
const AT_ONCE = 4;
/** Of its processor time in one turn; a whole garbage collection may add to it in a run of any length. */
const MOST_MS = 50;
/** A watch has shown by then that it began. */
const WATCHED_MS = 30;

let server: FuzzServer;
let client: HttpClient;
let collections: Collection[];
const program = await bundleProgram(new URL("server.ts", import.meta.url));
const thread = await bundleProgram(new URL("measured-thread.ts", import.meta.url));

before(async () => {
  server = await startFuzzServer({ program: program.path, thread: thread.path });
  ({ client, collections } = server);
  await makeSeeds();
});
after(async () => {
  await server?.stop();
  await program.remove();
  await thread.remove();
});

/** One object of each kind that there is an example of, and the untrusted client's right to everything. */
async function makeSeeds(): Promise<void> {
  await bindUntrusted(client, ["untrusted"]);
  const made = new Set<string>();
  for (const { path, apiVersion, kind } of collections) {
    const key = `${apiVersion.includes("/") ? apiVersion.split("/")[0] : ""}/${kind}`;
    const example = EXAMPLES[key];
    if (example === undefined || made.has(key)) continue;
    made.add(key);
    const response = await client.post(path, { apiVersion, kind, ...example });
    assert.equal(response.status, 201, `${key}: ${response.text}`);
  }
  assert.deepEqual([...made].sort(), Object.keys(EXAMPLES).sort());
}

interface Exchange {
  status: number;
  text: string;
}

async function ask({ method, path, headers, body }: FuzzRequest, number: number): Promise<Exchange> {
  const response = await client.open(path, {
    method,
    headers: { ...headers, "x-number": String(number) },
    ...defined({ body }),
  });
  const lasts = /[?&](watch|follow)=/.test(path) && response.statusCode === 200;
  const leave = lasts ? setTimeout(() => response.destroy(), WATCHED_MS) : undefined;
  let text = "";
  try {
    for await (const chunk of response) if (text.length < 2_000) text += String(chunk);
  } catch (error) {
    if (!lasts) throw error;
  } finally {
    clearTimeout(leave);
  }
  return { status: response.statusCode ?? 0, text };
}

const show = (number: number): string => {
  const { method, path, headers, body } = requestOf(seed, number, collections);
  return `#${number} ${method} ${path.slice(0, 500)} ${JSON.stringify(headers)} ${body?.length ?? 0} bytes ${String(body ?? "").slice(0, 400)}`;
};

const rounded = ({ worst, wall }: Turns) => ({ worst: Math.round(worst), wall: Math.round(wall) });

function slowTurns(thread: string, { stalls }: Turns): string[] {
  const shown = (requests: string[]) =>
    requests.map((each) => (each === "" ? "?" : show(Number(each)))).join("\n  ");
  return stalls
    .filter(({ ms }) => ms > MOST_MS)
    .map(({ ms, requests }) => `the thread of the ${thread}: ${ms.toFixed(0)} ms:\n  ${shown(requests)}`);
}

/** Complaints about the responses to these requests. */
async function run(from: number, to: number, codes: Record<number, number>): Promise<string[]> {
  const wrong: string[] = [];
  let next = from;
  const work = async (): Promise<void> => {
    for (let number = next++; number < to && wrong.length < 20; number = next++) {
      const request = requestOf(seed, number, collections);
      try {
        const { status, text } = await ask(request, number);
        codes[status] = (codes[status] ?? 0) + 1;
        if (status >= 500 && status !== 501) wrong.push(`${status} ${text.slice(0, 500)}\n  ${show(number)}`);
      } catch (error) {
        wrong.push(`no response (${String(error)})\n  ${show(number)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return wrong;
}

test(`${COUNT} hostile requests find no crash, no failure of the server and no stall (seed ${seed})`, async () => {
  const codes: Record<number, number> = {};
  const warm = await run(0, Math.min(WARM_UP, COUNT / 3), codes);
  server.begin();
  const wrong = [...warm, ...(await run(Math.min(WARM_UP, COUNT / 3), COUNT, codes))];
  assert.deepEqual(wrong, [], wrong.join("\n"));
  const { server: ofServer, store: ofStore, memory } = await server.report();
  const loops = { server: rounded(ofServer), store: rounded(ofStore) };
  process.stdout.write(`# ${JSON.stringify({ codes, ...loops, megabytes: memory >> 20 })}\n`);
  const slow = [...slowTurns("server", ofServer), ...slowTurns("store", ofStore)];
  assert.deepEqual(slow, [], slow.join("\n"));
  assert.ok((codes[200] ?? 0) + (codes[201] ?? 0) > COUNT / 50, "most requests never got past the door");
  assert.equal((await client.get("/readyz")).status, 200);
});
