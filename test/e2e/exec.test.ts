import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { eventually, thorough } from "@mooring/store/testing";
import { afterFile } from "../support/at-end.ts";
import { KUBECTL } from "../support/kubectl.ts";
import { pod } from "../support/manifests.ts";
import { world } from "../support/world.ts";

const { up, kubectl, shows } = await world();
const folder = await mkdtemp(join(tmpdir(), "mooring-exec-"));
afterFile(() => rm(folder, { recursive: true, force: true }));

const sum = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
const start = (args: string[], env: NodeJS.ProcessEnv = {}): ChildProcess =>
  spawn(KUBECTL, ["--kubeconfig", up.kubeconfig, ...args], { cwd: folder, env: { ...process.env, ...env } });

/** Runs kubectl to its end, with this on its standard input. */
async function run(args: string[], input?: Buffer | string, env?: NodeJS.ProcessEnv) {
  const child = start(args, env);
  const out: Buffer[] = [];
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr?.on("data", (chunk) => {
    stderr += String(chunk);
  });
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);
  const code = await new Promise<number>((resolve) => child.once("close", (exit) => resolve(exit ?? 1)));
  return { code, out: Buffer.concat(out), stdout: Buffer.concat(out).toString(), stderr };
}

/** Pids on this machine of programs whose command line has the text. */
async function running(word: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map(async (pid) => [pid, await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")] as const),
  );
  return lines.filter(([, line]) => line.startsWith("sleep\0") && line.includes(word)).map(([pid]) => pid);
}

await kubectl.apply(JSON.stringify(pod("default", "work", "while :; do echo beat; sleep 1; done")));
await shows(["pod", "work"], "{.status.phase}", "Running");

const WAYS = [
  ["in a WebSocket", {}],
  ["over SPDY, as older ones ask", { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false" }],
] as const;

for (const [how, env] of WAYS) {
  test(`kubectl exec runs a program ${how}: its output, its errors, its exit code, its input to the end`, async () => {
    const ran = await run(["exec", "work", "--", "sh", "-c", "echo out; echo err >&2; exit 42"], "", env);
    assert.deepEqual([ran.stdout, ran.code], ["out\n", 42]);
    assert.match(ran.stderr, /^err\n/);
    assert.match(ran.stderr, /exit code 42/);
    const words = await run(["exec", "-i", "work", "--", "wc", "-w"], "three short words\n", env);
    assert.deepEqual([words.stdout.trim(), words.code], ["3", 0]);
    const missing = await run(["exec", "work", "--", "no-such-program"], "", env);
    assert.notEqual(missing.code, 0);
    assert.match(missing.stderr, /no-such-program.*not found/);
    const nobody = await run(["exec", "work", "-c", "other", "--", "true"], "", env);
    assert.match(nobody.stderr, /container other is not valid for pod work/);
  });

  test(
    `large streams come through as they are ${how}, both ways, and files by kubectl cp`,
    thorough(),
    async () => {
      const bytes = randomBytes(16 << 20);
      const echoed = await run(["exec", "-i", "work", "--", "cat"], bytes, env);
      assert.deepEqual([echoed.out.length, sum(echoed.out), echoed.code], [bytes.length, sum(bytes), 0]);
      await writeFile(join(folder, "there"), bytes.subarray(0, 5 << 20));
      const put = await run(["cp", "there", "work:/tmp/there"], "", env);
      assert.equal(put.code, 0, put.stderr);
      const got = await run(["cp", "work:/tmp/there", "back"], "", env);
      assert.equal(got.code, 0, got.stderr);
      assert.equal(sum(await readFile(join(folder, "back"))), sum(bytes.subarray(0, 5 << 20)));
    },
  );

  test(`with a terminal a program sees one ${how}, of the size that kubectl's has`, async () => {
    // `script` gives kubectl a terminal of its own, as an operator has.
    const command = `stty rows 37 cols 111; ${KUBECTL} --kubeconfig ${up.kubeconfig} exec -it work -- sh -c 'until stty size | grep "37 111"; do sleep 0.1; done; test -t 1 && exit 5'`;
    const child = spawn("script", ["-qec", command, "/dev/null"], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, ...env },
    });
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += String(chunk);
    });
    const code = await new Promise((resolve) => child.once("close", resolve));
    assert.match(output, /37 111/);
    assert.equal(code, 5);
  });

  test(`who leaves takes the program along ${how}`, async () => {
    const child = start(["exec", "work", "--", "sleep", "98765"], env);
    await eventually("the program to run", async () => (await running("98765")).length === 1);
    child.kill("SIGKILL");
    await eventually("the program to have ended", async () => (await running("98765")).length === 0);
  });

  test(`who leaves while the program takes no more input takes it along too ${how}`, thorough(), async () => {
    const child = start(["exec", "-i", "work", "--", "sleep", "98766"], env);
    child.stdin?.on("error", () => {});
    await eventually("the program to run", async () => (await running("98766")).length === 1);
    const piece = Buffer.alloc(64 * 1024);
    // More than its pipe and what is read ahead of it.
    for (let i = 0; i < 32; i += 1) await new Promise((resolve) => child.stdin?.write(piece, resolve));
    child.kill("SIGKILL");
    await eventually("the program to have ended", async () => (await running("98766")).length === 0);
  });

  test(`kubectl attach shows what the container writes from now on ${how}`, async () => {
    const child = start(["attach", "work"], env);
    let output = "";
    child.stdout?.on("data", (chunk) => {
      output += String(chunk);
    });
    await eventually("a line of the container", async () => /beat\n/.test(output));
    child.kill("SIGKILL");
    const typed = await run(["attach", "-i", "work"], "x", env);
    assert.match(typed.stderr, /stdin: containers have none/);
  });

  test(
    `a slow reader has all that its program wrote, long after that has ended ${how}`,
    thorough(),
    async () => {
      // More than the buffers on the way take, and less than would hold the program up for ever.
      const script = "head -c 12000000 /dev/zero; echo last; exit 6";
      const child = start(["exec", "work", "--", "sh", "-c", script], env);
      const { stdout } = child;
      assert.ok(stdout);
      const out: Buffer[] = [];
      const ended = new Promise((resolve) => child.once("close", resolve));
      let next = performance.now();
      for await (const chunk of stdout) {
        out.push(chunk as Buffer);
        // A megabyte each second.
        next += ((chunk as Buffer).length / (1 << 20)) * 1000;
        await delay(next - performance.now());
      }
      assert.equal(Buffer.concat(out).length, 12_000_000 + "last\n".length);
      assert.equal(await ended, 6);
    },
  );
}

test("who may read pods may not run programs in them, and who did is in the log", async () => {
  const reader = "reader@example.com";
  const as = (...more: string[]) => ["--as", reader, ...more];
  await kubectl.run("create", "rolebinding", "reads", "--clusterrole=view", `--user=${reader}`);
  for (const args of [
    ["exec", "work", "--", "id"],
    ["attach", "work"],
    ["cp", "work:/etc/hostname", "x"],
  ]) {
    const refused = await run(as(...args));
    assert.notEqual(refused.code, 0, args.join(" "));
    assert.match(refused.stderr, /reader@example\.com.*cannot (create|get) resource "pods\/(exec|attach)"/);
  }
  // A WebSocket asks by GET: what allows reading `pods/exec` must not be enough.
  await kubectl.run("create", "role", "gets", "--verb=get", "--resource=pods/exec,pods");
  await kubectl.run("create", "rolebinding", "gets", "--role=gets", `--user=${reader}`);
  const got = await run(as("exec", "work", "--", "id"));
  assert.match(got.stderr, /cannot create resource "pods\/exec"/);
  await kubectl.run("create", "rolebinding", "edits", "--clusterrole=edit", `--user=${reader}`);
  const allowed = await run(as("exec", "work", "--", "sh", "-c", "echo secret-argument"));
  assert.deepEqual([allowed.stdout, allowed.code], ["secret-argument\n", 0]);
  assert.match(
    up.output,
    /reader@example\.com.*"does":"exec".*"program":"sh"|"program":"sh".*reader@example\.com/,
  );
  assert.doesNotMatch(up.output, /secret-argument/);
});
