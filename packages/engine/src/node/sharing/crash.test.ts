import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { Leases, LocalStore, listAll } from "@mooring/store";
import { bundleProgram, eventually, killEveryFailpoint, thorough } from "@mooring/store/testing";
import { createHost } from "../../host/create-host.ts";
import { engineRegistry } from "../../testing/agent.ts";
import { OF_LEASES } from "../../testing/failpoints-of-leases.ts";
import { notPassed } from "../../testing/passed.ts";
import { cleanUp, GIB, scratch, sparse } from "../../testing/scratch.ts";
import { findLeaks } from "../leaks/find-leaks.ts";

const host = createHost();
const child = await bundleProgram(new URL("../../testing/lease-crash-child.ts", import.meta.url));
after(child.remove);

/**
 * A life of a node; `fenced`: killed with the volume in use, and its guard has come to the end; `in use`: the next one is there
 * long before its guard has.
 */
type Life = { node: "a" | "b"; ends: "fenced" | "in use" | "at the failpoint" | "well" };

interface Story {
  failpoint: string;
  when: string;
  lives: readonly Life[];
  /** Somebody deletes all leases after each life that ends fenced. */
  leasesDeleted?: boolean;
}

/** The lives that end at the failpoint, and the ones that put everything in order. */
const STORIES: readonly Story[] = [
  { failpoint: "engine/volume/take-lease", when: "first use", lives: alone() },
  { failpoint: "engine/volume/record-released", when: "first use", lives: alone() },
  { failpoint: "engine/volume/remove-finalizer", when: "last use", lives: alone() },
  {
    failpoint: "engine/volume/drop-device",
    when: "coming back",
    lives: [{ node: "a", ends: "fenced" }, ...alone()],
  },
  {
    failpoint: "engine/volume/guard-device",
    when: "coming back at once",
    lives: [{ node: "a", ends: "in use" }, ...alone()],
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

/** So long that no guard comes to the end of a lease before the next life has it. */
const LONG_LEASES_MS = "300000";

const EXITS = { fenced: "SIGKILL", "in use": "SIGKILL", "at the failpoint": "SIGKILL", well: 0 } as const;

async function live(
  dir: string,
  { node, ends }: Life,
  { failpoint, lives }: Pick<Story, "failpoint" | "lives">,
): Promise<void> {
  const { MOORING_FAILPOINT: _, ...env } = process.env;
  const dies = ends === "fenced" || ends === "in use";
  const durations = lives.some((life) => life.ends === "in use") ? [LONG_LEASES_MS] : [];
  const args = [child.path, dir, node, dies ? "dies" : "-", ...durations];
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

async function deleteLeases(dir: string): Promise<void> {
  const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
  const { items } = await listAll(store, Leases);
  assert.notEqual(items.length, 0);
  for (const { metadata } of items) await store.delete(Leases, metadata);
  await store.close();
}

/** Resolves to the failpoints of leases that the lives have passed which ended well. */
async function liveAll(t: TestContext, story: Story): Promise<string[]> {
  const { lives } = story;
  const dir = await scratch(t, host);
  await sharedFolder(dir);
  let left: readonly string[] = OF_LEASES;
  for (const life of lives) {
    await live(dir, life, story);
    if (life.ends === "well") left = await notPassed(left, dir);
    if (life.ends !== "fenced") continue;
    await eventually("the guard to fence the device", async () => {
      const left = await devices(join(dir, life.node));
      return left.length === 1 && left[0]?.fenced === true;
    });
    if (story.leasesDeleted === true) await deleteLeases(dir);
  }
  await assertNothingLeft(dir, new Set(lives.map(({ node }) => node)));
  await cleanUp(host, dir);
  return OF_LEASES.filter((name) => !left.includes(name));
}

killEveryFailpoint(STORIES, { everyday: 1 }, (story) => {
  const { failpoint, when } = story;
  test(`shared pool, ${when}: killed at ${failpoint}, the next lives end the work and leave nothing`, async (t) => {
    await liveAll(t, story);
  });
});

test(
  "an image is replaced before a takeover also when somebody has deleted the lease of the node that was lost",
  thorough(),
  async (t) => {
    // The life of b ends there only if it gets there.
    const failpoint = "engine/volume/renew-image";
    await liveAll(t, { failpoint, when: "takeover", lives: takeover(), leasesDeleted: true });
  },
);

test("lives that nobody kills at a failpoint pass every failpoint of leases", thorough(), async (t) => {
  const passed = new Set<string>();
  const lived = new Set<string>();
  for (const story of STORIES) {
    const lives = story.lives.filter(({ ends }) => ends !== "at the failpoint");
    if (lived.has(JSON.stringify(lives))) continue;
    lived.add(JSON.stringify(lives));
    for (const name of await liveAll(t, { ...story, lives })) passed.add(name);
  }
  assert.deepEqual([...passed].sort(), [...OF_LEASES].sort());
});

test("every failpoint that only shared pools reach has its story here", () => {
  const covered = STORIES.map(({ failpoint }) => failpoint);
  assert.deepEqual(
    OF_LEASES.filter((failpoint) => !covered.includes(failpoint)),
    [],
  );
});
