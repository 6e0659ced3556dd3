import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { silentLogger } from "@mooring/store";
import { bundleProgram, covers, eventually, everyday, sample } from "@mooring/store/testing";
import type { Freezer, FreezeTarget } from "../../host/freezer/freezer.ts";
import { layOut, startWriter, type Writer } from "../group-snapshot/testing/ordered-blocks.ts";
import { controlGroup } from "../group-snapshot/testing/use-volume.ts";
import { inOrder } from "./in-order.ts";
import { Freezes } from "./index.ts";
import { freezers, notes, sessionOf, setUp, wasFrozen } from "./testing/frozen-mount.ts";

const writer = await bundleProgram(new URL("../group-snapshot/testing/ordered-writer.ts", import.meta.url));
after(writer.remove);
const child = await bundleProgram(new URL("./testing/freeze-child.ts", import.meta.url));
after(child.remove);

interface Stage {
  mount: string;
  state: string;
  group: string;
  targets: FreezeTarget[];
  /** Is in the group and writes to the file system. */
  running: Writer;
}

async function whileWriting(t: TestContext, play: (stage: Stage) => Promise<void>): Promise<void> {
  const { mount, state } = await setUp(t);
  const group = await controlGroup(t);
  const file = join(mount, "f");
  await layOut(file);
  const running = await startWriter(writer.path, [file], group);
  const targets: FreezeTarget[] = [
    { kind: "filesystem", path: mount },
    { kind: "cgroup", path: group },
  ];
  try {
    await play({ mount, state, group, targets, running });
  } finally {
    await running.stop();
    await eventually("the group to be empty", async () => !(await events(group)).includes("populated 1"));
  }
}

/** Who freezes this group has to wait until `release`. */
async function occupy(t: TestContext, group: string): Promise<{ release(): Promise<void> }> {
  const locker = spawn("flock", ["--exclusive", group, "sh", "-c", "echo locked; read line"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(locker, "exit");
  await once(locker.stdout, "data");
  const release = async (): Promise<void> => {
    locker.stdin.end();
    await ended;
  };
  t.after(release);
  return { release };
}

const events = (group: string): Promise<string> => readFile(join(group, "cgroup.events"), "utf8");
const isStill = async (group: string): Promise<boolean> => (await events(group)).includes("frozen 1");

test(
  "a file system is frozen only when the control groups are still, however long one of them takes",
  everyday(),
  (t) => {
    covers("KEP-002");
    return whileWriting(t, async ({ mount, state, group, targets, running }) => {
      const freezer = await new Freezes(state, silentLogger).arm(targets, 60);
      const { release } = await occupy(t, group);
      const frozen = freezer.freeze();
      try {
        for (let step = 0; step < 100; step++) await running.goesOn();
        await release();
        await frozen;
        assert.equal(await isStill(group), true);
      } finally {
        await Promise.allSettled([frozen]);
        assert.equal(await freezer.thaw(), true);
      }
      assert.equal(await wasFrozen(mount), false);
      assert.equal(await isStill(group), false);
      assert.deepEqual(await notes(state), []);
      await running.goesOn();
    });
  },
);

test(
  "an agent killed when the control groups are still and no file system is frozen yet: the writers go on",
  everyday(),
  (t) =>
    whileWriting(t, async ({ mount, state, group, running }) => {
      const life = spawn(process.execPath, [child.path, state, group, mount], {
        stdio: ["ignore", "ignore", "inherit"],
        env: { ...process.env, MOORING_FAILPOINT: "engine/freezes/frozen" },
      });
      assert.deepEqual(await once(life, "exit"), [null, "SIGKILL"]);
      await running.goesOn();
      await eventually("the end of the notes", async () => (await notes(state)).length === 0);
      assert.equal(await isStill(group), false);
      assert.equal(await wasFrozen(mount), false);
      // They end a moment after the notes are gone.
      await eventually("the end of the freezing processes", async () => {
        return [...(await freezers(group)), ...(await freezers(mount))].length === 0;
      });
    }),
);

for (const first of sample(["cgroup", "filesystem"] as const, { everyday: 1 })) {
  test(`the process that froze the ${first} killed while both are frozen: all go on in the end, and that is reported`, (t) =>
    whileWriting(t, async ({ mount, state, group, targets, running }) => {
      const freezer = await new Freezes(state, silentLogger).arm(targets, 600);
      await freezer.freeze();
      process.kill(-(await sessionOf(first === "cgroup" ? group : mount)), "SIGKILL");
      assert.equal(await freezer.thaw(), false);
      await running.goesOn();
      assert.equal(await wasFrozen(mount), false);
      assert.deepEqual(await notes(state), []);
    }));
}

test(
  "all that are frozen share one time, and what is frozen when the next one fails is thawed",
  everyday(),
  async () => {
    const given: number[] = [];
    let thaws = 0;
    const step = (freeze: () => Promise<void>): Freezer => ({
      freeze: async (seconds = Number.NaN) => {
        given.push(seconds);
        await freeze();
      },
      thaw: async () => {
        thaws += 1;
        return true;
      },
    });
    const slow = step(() => new Promise((resolve) => setTimeout(resolve, 50)));
    await inOrder([slow, slow], 60).freeze();
    const [first = 0, second = 0] = given;
    assert.ok(first <= 60 && second < first - 0.04, given.join(" "));
    const broken = step(() => Promise.reject(new Error("it is gone")));
    await assert.rejects(inOrder([slow, broken], 60).freeze(), /it is gone/);
    assert.equal(thaws, 2);
  },
);
