import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { failpointNames } from "@mooring/store";
import { bundleProgram, killEveryFailpoint } from "@mooring/store/testing";
import "./index.ts";
import "../cron-job/index.ts";
import "../resource-quota/index.ts";

const story = await bundleProgram(new URL("../testing/batch-story.ts", import.meta.url));
after(story.remove);

/** One life of the controllers; how it ended. */
async function live(folder: string, failpoint: string | undefined): Promise<unknown> {
  const { MOORING_FAILPOINT: _, ...env } = process.env;
  const child = spawn(process.execPath, ["--enable-source-maps", story.path, folder], {
    stdio: ["ignore", "ignore", "inherit"],
    env: failpoint === undefined ? env : { ...env, MOORING_FAILPOINT: failpoint },
  });
  const [code, signal] = await once(child, "exit");
  return signal ?? code;
}

const failpoints = failpointNames()
  .filter((name) => /^standalone\/(job|cron-job|resource-quota)\//.test(name))
  // A Job writes its status often: before, between and after what it does with its pods.
  .flatMap((name) => (name === "standalone/job/status-written" ? [name, `${name}#5`, `${name}#11`] : [name]));
killEveryFailpoint(failpoints, { everyday: 1 }, (failpoint) => {
  test(`killed at ${failpoint}, the next life counts each pod once and ends the work`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "mooring-batch-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    assert.equal(await live(folder, failpoint), "SIGKILL", "the failpoint was not passed");
    assert.equal(await live(folder, undefined), 0);
  });
});
