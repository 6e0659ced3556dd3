import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, type TestContext, test } from "node:test";
import { defined } from "@mooring/store";
import { bundleProgram, killEveryFailpoint, thorough } from "@mooring/store/testing";

/** A program that is one life of some controllers, and where it is killed. */
export interface KillStory {
  /** See {@link StoryLife}: its argument is a folder, its output what it has passed. */
  program: URL;
  failpoints: readonly string[];
  /** Further times to be killed, such as `name#5`. */
  later?: readonly string[];
  /** What the life after a kill shows. */
  shows: string;
}

/**
 * Declares tests: a life that is not killed passes every failpoint, and one that is killed there is followed by one that
 * ends well.
 */
export async function killStory({ program, failpoints, later = [], shows }: KillStory): Promise<void> {
  const story = await bundleProgram(program);
  after(story.remove);

  /** How a life ended, and its output. */
  async function live(folder: string, failpoint?: string): Promise<[end: unknown, output: string]> {
    const { MOORING_FAILPOINT: _, ...env } = process.env;
    const child = spawn(process.execPath, ["--enable-source-maps", story.path, folder], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...env, ...defined({ MOORING_FAILPOINT: failpoint }) },
    });
    const output = text(child.stdout);
    const [code, signal] = await once(child, "exit");
    return [signal ?? code, await output];
  }

  async function folderFor(t: TestContext): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "mooring-story-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    return folder;
  }

  test("a life that is not killed passes every failpoint", thorough(), async (t) => {
    const [end, output] = await live(await folderFor(t));
    assert.equal(end, 0);
    const passed = new Set(JSON.parse(output) as string[]);
    assert.deepEqual(
      failpoints.filter((name) => !passed.has(name)),
      [],
    );
  });

  killEveryFailpoint([...failpoints, ...later], { everyday: 1, full: 10 }, (failpoint) => {
    test(`killed at ${failpoint}, the next life ${shows}`, async (t) => {
      const folder = await folderFor(t);
      assert.equal((await live(folder, failpoint))[0], "SIGKILL", "the failpoint was not passed");
      assert.equal((await live(folder))[0], 0);
    });
  });
}
