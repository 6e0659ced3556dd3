import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { buffer, text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { silentLogger } from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { ExecStartError } from "./exec-session.ts";
import { createProcessRuntime } from "./process-runtime.ts";
import type { Runtime } from "./runtime.ts";
import type { ExecSession } from "./session.ts";

const ID = "session";
let stateDir: string;
let runtime: Runtime;

before(async () => {
  stateDir = await mkdtemp("/tmp/mooring-session-");
  runtime = await createProcessRuntime({ stateDir, logger: silentLogger });
  await runtime.start({
    id: ID,
    pod: { uid: "uid-1", namespace: "default", name: "pod-1" },
    name: "main",
    attempt: 0,
    argv: ["sleep", "600"],
    env: { PATH: "/usr/bin:/bin", OWN: "variable" },
    hostname: "pod-1",
    user: { uid: 1234, gid: 1234, groups: [] },
    capabilities: [],
    mounts: [],
    devices: [],
  });
});

after(async () => {
  await runtime.stop(ID, { graceMs: 0 });
  await runtime.remove(ID);
  for (const pod of await runtime.podsOnDisk()) await runtime.removePod(pod);
  await runtime.close();
  await rm(stateDir, { recursive: true });
});

const open = (script: string, options: { stdin?: boolean; tty?: boolean } = {}): Promise<ExecSession> =>
  runtime.open(ID, ["sh", "-c", script], { stdin: false, tty: false, ...options });

/** The text that has come, once it has what is wanted. */
async function until(session: ExecSession, wanted: RegExp): Promise<string> {
  let seen = "";
  for await (const chunk of session.stdout) {
    seen += String(chunk);
    if (wanted.test(seen)) return seen;
  }
  throw new Error(`ended without ${wanted}: ${seen}`);
}

test("output, errors and exit code come apart, and the program is the user that the container's is", async () => {
  const session = await open("id -u; echo $OWN; echo wrong >&2; exit 7");
  const [out, err, code] = await Promise.all([
    text(session.stdout),
    session.stderr && text(session.stderr),
    session.exit,
  ]);
  assert.deepEqual([out, err, code], ["1234\nvariable\n", "wrong\n", 7]);
});

test("a large stream goes through both ways as it is", async () => {
  const session = await open("cat", { stdin: true });
  const sent = randomBytes(24 * 1024 * 1024);
  session.stdin?.end(sent);
  const [back, code] = await Promise.all([buffer(session.stdout), session.exit]);
  const sum = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
  assert.deepEqual([back.length, sum(back), code], [sent.length, sum(sent), 0]);
});

test("a terminal has a size that changes, echoes, and takes an interrupt", async () => {
  const session = await open(
    "trap 'stty size; echo resized' WINCH; trap 'echo stopped; exit 3' INT; test -t 0 && test -t 1 && echo terminal $TERM; while :; do read line && echo got $line; done",
    { stdin: true, tty: true },
  );
  assert.equal(session.stderr, undefined);
  const seen = until(session, /stopped/);
  session.resize({ columns: 132, rows: 43 });
  session.stdin?.write("hello\n");
  const wait = (wanted: RegExp, from: () => string) =>
    eventually(`${wanted}`, () => wanted.test(from()), { everyMs: 10, lastSeen: from });
  let output = "";
  session.stdout.on("data", (chunk) => {
    output += String(chunk);
  });
  await wait(/got hello/, () => output);
  session.resize({ columns: 101, rows: 33 });
  await wait(/33 101/, () => output);
  session.stdin?.write("\x03");
  assert.equal(await session.exit, 3);
  assert.match(await seen, /terminal xterm/);
  assert.match(output, /hello\r\n/);
});

test("a million sizes of a terminal are not kept, and the last one is its size", thorough(), async () => {
  const session = await open("echo begun; read line; stty size", { stdin: true, tty: true });
  await until(session, /begun/);
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 1_000_000; i += 1) session.resize({ columns: 80, rows: 24 });
  session.resize({ columns: 101, rows: 33 });
  const kept = process.memoryUsage().heapUsed - before;
  assert.ok(kept < 64 * 1024 * 1024, `${kept} bytes are kept of sizes`);
  await session.kill();
});

test("a program that is not there is an error of its start, with runc's message", async () => {
  for (const tty of [false, true]) {
    const session = await runtime.open(ID, ["/no/such/program"], { stdin: false, tty });
    session.stdout.resume();
    await assert.rejects(
      session.exit,
      (error) => error instanceof ExecStartError && /no such file|not found/.test(error.message),
    );
  }
});

test("a session that is ended leaves no program behind", async () => {
  for (const tty of [false, true]) {
    const session = await open("echo $$ begun; exec sleep 987", { stdin: true, tty });
    await until(session, /begun/);
    await session.kill();
    await session.exit.catch(() => {});
    const { pid } = runtime.get(ID) ?? {};
    const left = async () => {
      const inside = await runtime.exec(ID, ["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"], {
        timeoutMs: 30_000,
      });
      return /sleep 987/.test(inside.output);
    };
    await eventually(`all programs of ${pid} to end`, async () => !(await left()));
  }
});
