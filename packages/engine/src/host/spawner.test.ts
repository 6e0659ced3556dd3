import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually } from "@mooring/store/testing";
import { scratch } from "../testing/scratch.ts";
import { createHost } from "./create-host.ts";
import { createExec } from "./exec.ts";
import { Spawners } from "./spawners.ts";

const host = createHost();

const alive = (pid: number): boolean => existsSync(`/proc/${pid}`);

/** A process that runs `sh -c script` through its spawner and prints the spawner's pid. */
async function parentOf(t: TestContext, script: string, options: string): Promise<[ChildProcess, number]> {
  const path = (name: string): string => JSON.stringify(fileURLToPath(new URL(name, import.meta.url)));
  const program = `
    import { createExec } from ${path("./exec.ts")};
    import { Spawners } from ${path("./spawners.ts")};
    const spawners = new Spawners(0);
    const exec = createExec(spawners);
    await exec.run("true", []);
    console.log(spawners.current.pid);
    await exec.run("sh", ["-c", ${JSON.stringify(script)}], ${options});
  `;
  const file = join(await scratch(t, host), "parent.mts");
  await writeFile(file, program);
  const args = ["--conditions=mooring-source", "--import", import.meta.resolve("tsx"), file];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  for await (const line of createInterface({ input: child.stdout })) return [child, Number(line)];
  throw new Error("the parent has ended");
}

test("kill -9 of the parent: what must finish finishes, and no spawner is left", async (t) => {
  const dir = await scratch(t, host);
  const script = `touch ${dir}/begun; while [ ! -e ${dir}/go ]; do echo working; sleep 0.05; done; echo x >${dir}/end`;
  const [parent, spawner] = await parentOf(t, script, "{ uninterruptible: true }");
  await eventually("the program to begin", () => existsSync(join(dir, "begun")));
  assert.ok(alive(spawner));
  parent.kill("SIGKILL");
  await eventually("the spawner to end", () => !alive(spawner));
  await writeFile(join(dir, "go"), "");
  await eventually("the program to finish", () => existsSync(join(dir, "end")));
});

test("kill -9 of the parent: what is of no use without it ends", async (t) => {
  const dir = await scratch(t, host);
  const [parent, spawner] = await parentOf(t, `echo $$ >${dir}/pid; exec sleep 600`, "{ endsWithUs: true }");
  const program = () => Number(readFileSync(join(dir, "pid"), "utf8"));
  await eventually("the program to begin", () => existsSync(join(dir, "pid")) && program() > 0);
  assert.ok(alive(program()));
  parent.kill("SIGKILL");
  await eventually("the program to end", () => !alive(program()));
  await eventually("the spawner to end", () => !alive(spawner));
});

test("what is to end with its parent has a spawner from the first program on", async () => {
  const spawners = new Spawners();
  const exec = createExec(spawners);
  await exec.run("true", []);
  assert.equal(spawners.current, undefined, "one program is not worth it");
  await exec.run("true", [], { endsWithUs: true });
  assert.ok(spawners.current);
});

test("a parent that has nothing else to do ends, and its spawner with it", async (t) => {
  const [parent, spawner] = await parentOf(t, "true", "{}");
  if (parent.exitCode === null) assert.deepEqual(await once(parent, "exit"), [0, null]);
  await eventually("the spawner to end", () => !alive(spawner));
});

test("signals that stop a service do not end the spawner", async () => {
  const spawners = new Spawners(0);
  const exec = createExec(spawners);
  await exec.run("true", []);
  const pid = spawners.current?.pid ?? 0;
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.kill(pid, signal);
  assert.equal((await exec.run("echo", ["still here"])).stdout, "still here\n");
  assert.equal(spawners.current?.pid, pid);
});

test("a killed spawner fails what is under way, and the next program starts all the same", async () => {
  const spawners = new Spawners(0);
  const exec = createExec(spawners);
  await exec.run("true", []);
  const run = assert.rejects(exec.run("sleep", ["1"]), /has ended/);
  process.kill(spawners.current?.pid ?? 0, "SIGKILL");
  await run;
  assert.equal((await exec.run("echo", ["again"])).stdout, "again\n");
});

test("a program gets the files that it is to inherit and no others; a released one is free", async (t) => {
  const dir = await scratch(t, host);
  const file = await open(join(dir, "lock"), "a+");
  t.after(() => file.close().catch(() => {}));
  const spawners = new Spawners(0);
  const exec = createExec(spawners);
  await exec.run("true", []);
  const before = spawners.current?.pid;
  await exec.run("flock", ["--exclusive", "3"], { inherit: [file.fd] });
  assert.notEqual(spawners.current?.pid, before, "a spawner that has the file");
  const list = ["-c", "ls -l /proc/$$/fd"];
  assert.match((await exec.run("sh", list, { inherit: [file.fd] })).stdout, /3 -> .*\/lock/);
  assert.doesNotMatch((await exec.run("sh", list)).stdout, /\/lock/);

  const tryLock = ["--exclusive", "--nonblock", join(dir, "lock"), "true"];
  assert.equal((await exec.try("flock", tryLock)).exitCode, 1);
  await spawners.release(file.fd);
  await file.close();
  assert.equal((await exec.try("flock", tryLock)).exitCode, 0);
});

test("text of any kind comes back as it was", async (t) => {
  const exec = createExec(new Spawners(0));
  const text = 'zeile\u2028 "\\n" ü€😀\r\n\u0000 end';
  assert.equal((await exec.run("cat", [], { input: text })).stdout, text);
  const path = join(await scratch(t, host), "f");
  await Promise.all(
    [...Array(40).keys()].map((n) => exec.run("sh", ["-c", 'echo $1 >>"$2"', "sh", `${n}`, path])),
  );
  assert.equal((await readFile(path, "utf8")).trim().split("\n").length, 40);
});

test("a program whose output has no place fails alone: the spawner and its other programs go on", async (t) => {
  const dir = await scratch(t, host);
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = join(dir, "missing");
  const spawners = new Spawners(0);
  try {
    // The spawner's own environment is that of its start.
    await createExec(spawners).run("true", []);
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
  const exec = createExec(spawners);
  const pid = spawners.current?.pid;
  const other = exec.run("sh", ["-c", `while [ ! -e ${dir}/go ]; do sleep 0.05; done; echo done`]);
  await assert.rejects(exec.run("echo", ["x"], { uninterruptible: true }), {
    code: "INTERNAL",
    message: /cannot start echo: .*missing\/mooring-output-/,
  });
  await writeFile(join(dir, "go"), "");
  assert.equal((await other).stdout, "done\n");
  assert.equal(spawners.current?.pid, pid);
});
