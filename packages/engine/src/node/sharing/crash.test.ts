import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { Leases, LocalStore, listAll } from "@mooring/store";
import { bundleProgram, eventually, killEveryFailpoint } from "@mooring/store/testing";
import { createHost } from "../../host/create-host.ts";
import { engineRegistry } from "../../testing/agent.ts";
import { OF_LEASES } from "../../testing/failpoints-of-leases.ts";
import { cleanUp, GIB, scratch, sparse } from "../../testing/scratch.ts";
import { findLeaks } from "../leaks/find-leaks.ts";

const host = createHost();
const child = await bundleProgram(new URL("../../testing/lease-crash-child.ts", import.meta.url));
after(child.remove);

/** A life of a node; `fenced`: killed with the volume in use, and its guard has come to the end. */
type Life = { node: "a" | "b"; ends: "fenced" | "at the failpoint" | "well" };

/** The lives that end at the failpoint, and the ones that put everything in order. */
const STORIES: readonly { failpoint: string; when: string; lives: readonly Life[] }[] = [
  { failpoint: "engine/volume/take-lease", when: "first use", lives: alone() },
  { failpoint: "engine/volume/record-released", when: "first use", lives: alone() },
  { failpoint: "engine/volume/remove-finalizer", when: "last use", lives: alone() },
  {
    failpoint: "engine/volume/drop-device",
    when: "coming back",
    lives: [{ node: "a", ends: "fenced" }, ...alone()],
  },
  { failpoint: "engine/volume/take-lease", when: "takeover", lives: takeover() },
  { failpoint: "engine/volume/renew-image", when: "takeover", lives: takeover() },
];

function alone(): Life[] {
  return [
    { node: "a", ends: "at the failpoint" },
    { node: "a", ends: "well" },
  ];
}

/** The node that was lost comes back when another one has used up what it had. */
function takeover(): Life[] {
  return [
    { node: "a", ends: "fenced" },
    { node: "b", ends: "at the failpoint" },
    { node: "b", ends: "well" },
    { node: "a", ends: "well" },
  ];
}

const EXITS = { fenced: "SIGKILL", "at the failpoint": "SIGKILL", well: 0 } as const;

async function live(dir: string, { node, ends }: Life, failpoint: string): Promise<void> {
  const { MOORING_FAILPOINT: _, ...env } = process.env;
  const args = [child.path, dir, node, ...(ends === "fenced" ? ["dies"] : [])];
  const life = spawn(process.execPath, args, {
    stdio: ["ignore", "ignore", "inherit"],
    env: ends === "at the failpoint" ? { ...env, MOORING_FAILPOINT: failpoint } : env,
  });
  const [code, signal] = await once(life, "exit");
  assert.equal(signal ?? code, EXITS[ends], `node ${node} did not end ${ends}`);
}

/** The folder that all nodes see. */
async function sharedFolder(dir: string): Promise<string> {
  const { path: device } = await host.loops.attach(await sparse(join(dir, "disk"), GIB));
  await host.exec.run("mkfs.xfs", ["-q", "-m", "reflink=1", device]);
  const folder = join(dir, "shared");
  await mkdir(folder);
  await host.mounts.mount({ source: device, target: folder, fsType: "xfs" });
  return folder;
}

const devices = async (dir: string) =>
  (await host.loops.list()).filter(({ backingFile }) => backingFile.startsWith(`${dir}/`));

/** Processes whose command line names the folder: the guards outlive their agents. */
async function guards(dir: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""));
  return (await Promise.all(lines)).filter((line) => line.includes(`${dir}/`));
}

async function assertNothingLeft(dir: string, nodes: ReadonlySet<string>): Promise<void> {
  const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
  const leaks = [];
  for (const node of nodes) leaks.push(...(await findLeaks({ store, host, stateDir: join(dir, node) })));
  const leases = (await listAll(store, Leases)).items.map(({ metadata, spec }) => [metadata.name, spec]);
  await store.close();
  assert.deepEqual(leaks, []);
  assert.deepEqual(leases, []);
  assert.deepEqual(await readdir(join(dir, "shared", "images")), []);
  for (const node of nodes) assert.deepEqual(await devices(join(dir, node)), []);
  const mounts = (await host.mounts.list()).map(({ target }) => target);
  assert.deepEqual(
    mounts.filter((target) => target.startsWith(`${dir}/`)),
    [join(dir, "shared")],
  );
  await eventually("the guards to end", async () => (await guards(dir)).length === 0);
}

async function liveAll(t: TestContext, failpoint: string, lives: readonly Life[]): Promise<void> {
  const dir = await scratch(t, host);
  await sharedFolder(dir);
  for (const life of lives) {
    await live(dir, life, failpoint);
    if (life.ends !== "fenced") continue;
    await eventually("the guard to fence the device", async () => {
      const left = await devices(join(dir, life.node));
      return left.length === 1 && left[0]?.fenced === true;
    });
  }
  await assertNothingLeft(dir, new Set(lives.map(({ node }) => node)));
  await cleanUp(host, dir);
}

killEveryFailpoint(STORIES, { everyday: 1 }, ({ failpoint, when, lives }) => {
  test(`shared pool, ${when}: killed at ${failpoint}, the next lives end the work and leave nothing`, (t) =>
    liveAll(t, failpoint, lives));
});

test("every failpoint that only shared pools reach has its story here", () => {
  const covered = STORIES.map(({ failpoint }) => failpoint);
  assert.deepEqual(
    OF_LEASES.filter((failpoint) => !covered.includes(failpoint)),
    [],
  );
});
