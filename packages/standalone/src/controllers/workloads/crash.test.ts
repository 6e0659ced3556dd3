import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { failpointNames } from "@mooring/store";
import { bundleProgram, killEveryFailpoint } from "@mooring/store/testing";
import "../deployment/index.ts";
import "../replica-set/index.ts";
import "../stateful-set/index.ts";

const story = await bundleProgram(new URL("./testing/crash-story.ts", import.meta.url));
after(story.remove);

/** One life of the controllers; how it ended. */
async function live(folder: string, failpoint: string | undefined): Promise<unknown> {
  const { MOORING_FAILPOINT: _, ...env } = process.env;
  const child = spawn(process.execPath, [story.path, folder], {
    stdio: ["ignore", "ignore", "inherit"],
    env: failpoint === undefined ? env : { ...env, MOORING_FAILPOINT: failpoint },
  });
  const [code, signal] = await once(child, "exit");
  return signal ?? code;
}

const failpoints = failpointNames().filter((name) =>
  /^standalone\/(deployment|replica-set|stateful-set)\//.test(name),
);
killEveryFailpoint(failpoints, { everyday: 1 }, (failpoint) => {
  test(`killed at ${failpoint}, the next life has as many pods as it should, and their claims`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "mooring-workloads-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    assert.equal(await live(folder, failpoint), "SIGKILL", "the failpoint was not passed");
    assert.equal(await live(folder, undefined), 0);
  });
});
