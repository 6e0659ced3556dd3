import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { bundleProgram, cephOfFile, eventually, withCeph } from "@mooring/store/testing";
import { writeClientConf } from "../../pools/rbd/client-conf.ts";
import { scratch } from "../../testing/scratch.ts";
import { createHost } from "../create-host.ts";
import { connected, libraryProcesses, placeIn } from "./testing/connected.ts";

const withCluster = await withCeph();
const cluster = cephOfFile(after);
const host = createHost();
const IMAGES = 200;
const MIB = 1024 ** 2;
const INFO = ["info", "--format", "json", "nothing"];
const child = withCluster.skip === false ? await bundle() : "";
const ALLOW = { allow: [2] };

async function bundle(): Promise<string> {
  const { path, remove } = await bundleProgram(new URL("./testing/agent-child.ts", import.meta.url));
  after(remove);
  return path;
}

/** Resident bytes of a process. */
function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
}

test(
  "two hundred calls at once, and thousands: all are made, and the process does not grow",
  withCluster,
  async (t) => {
    const ceph = await cluster();
    const folder = await scratch(t, host);
    const before = libraryProcesses();
    const { commands, started } = await connected(placeIn(ceph, await ceph.namespace()), folder);
    const names = Array.from({ length: IMAGES }, (_, index) => `image-${index}`);
    await Promise.all(names.map((name) => commands.rbd(["create", "--size", "4194304B", name])));
    const list = async () => JSON.parse((await commands.rbd(["ls", "-l", "--format", "json"])).stdout);
    assert.equal((await list()).length, IMAGES);
    await commands.rbd(["snap", "create", "--no-progress", "image-0@now"]);
    await commands.rbd(["clone", ...commands.destination, "image-0@now", "copy"]);
    const readAll = async () => {
      await Promise.all(names.map((name) => commands.rbd(["info", "--format", "json", name])));
      for (const name of ["copy", "image-0", "absent"]) {
        await commands.rbd(["info", "--format", "json", name], ALLOW);
        await commands.rbd(["status", "--format", "json", name], ALLOW);
        await commands.rbd(["snap", "ls", "--all", "--format", "json", name], ALLOW);
      }
      for (const args of [
        ["ls", "-l"],
        ["group", "ls"],
      ])
        await commands.rbd([...args, "--format", "json"]);
      await commands.ceph(["df", "detail", "--format", "json"]);
    };
    const [pid = 0, ...others] = libraryProcesses(before);
    assert.deepEqual(others, []);
    const rounds = async (count: number) => {
      for (let round = 0; round < count; round++) await readAll();
      return residentBytes(pid);
    };
    // By then its heap is as large as two hundred calls at once make it.
    const early = await rounds(30);
    const late = await rounds(30);
    t.diagnostic(`resident after 6,000 calls ${early / MIB} MiB, after 12,000 ${late / MIB} MiB`);
    assert.ok(late < early * 1.1 + 12 * MIB, `${early} and ${late} bytes`);
    await Promise.all(names.slice(1).map((name) => commands.rbd(["trash", "mv", name])));
    assert.deepEqual((await list()).map(({ image }: { image: string }) => image).sort(), ["copy", "image-0"]);
    assert.deepEqual(started, [], "no program was started");
    assert.deepEqual(libraryProcesses(before), [pid], "and the process is the first one");
  },
);

/** Arguments of `rbd` for a cluster whose monitor takes connections, and says nothing. */
async function ofSilence(t: TestContext): Promise<string[]> {
  const monitor = createServer().listen(0, "127.0.0.1");
  t.after(() => monitor.close());
  await once(monitor, "listening");
  const { port } = monitor.address() as AddressInfo;
  const conf = join(await scratch(t, host), "silent.conf");
  writeFileSync(conf, `[global]\nmon_host = v2:127.0.0.1:${port}\nauth_client_required = none\n`);
  return ["--conf", conf, "--id", "x", "--pool", "x", ...INFO];
}

async function ofCluster(t: TestContext): Promise<string[]> {
  const ceph = await cluster();
  const place = placeIn(ceph, await ceph.namespace());
  const folder = await scratch(t, host);
  const conf = await writeClientConf(folder, place);
  return ["--conf", conf, "--id", place.user, "--pool", place.pool, ...INFO];
}

for (const [state, argumentsFor, isReached] of [
  ["while it connects", ofSilence, () => true],
  ["with a connection", ofCluster, (output: string) => output.includes("by the library")],
] as const)
  test(`a process that is killed ${state} leaves none of the library`, withCluster, async (t) => {
    const args = JSON.stringify(await argumentsFor(t));
    const agent = spawn(process.execPath, [child, args], { stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => void agent.kill("SIGKILL"));
    let output = "";
    agent.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    const [pid] = await eventually("its library's process", async () => {
      const begun = libraryProcesses([], agent.pid);
      return begun.length === 1 && isReached(output) && begun;
    });
    agent.kill("SIGKILL");
    // Far sooner than it would have given up to connect.
    const within = { withinMs: 15_000 };
    await eventually("its end", async () => !existsSync(`/proc/${pid}`), within);
  });
