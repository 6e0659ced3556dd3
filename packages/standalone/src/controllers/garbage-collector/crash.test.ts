import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { failpointNames } from "@mooring/store";
import "./index.ts";
import "../namespace/index.ts";

const STORY = fileURLToPath(new URL("../../apiserver/testing/crash-story.ts", import.meta.url));

/** One life of the controllers; how it ended. */
async function live(folder: string, failpoint: string | undefined): Promise<unknown> {
  const { MOORING_FAILPOINT: _, ...env } = process.env;
  const child = spawn(process.execPath, ["--conditions=mooring-source", "--import", "tsx", STORY, folder], {
    stdio: ["ignore", "ignore", "inherit"],
    env: failpoint === undefined ? env : { ...env, MOORING_FAILPOINT: failpoint },
  });
  const [code, signal] = await once(child, "exit");
  return signal ?? code;
}

const gaps = failpointNames().filter((name) => /^standalone\/(garbage-collector|namespace)\//.test(name));
for (const gap of gaps) {
  test(`killed at ${gap}, the next life ends the work`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "mooring-collector-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    assert.equal(await live(folder, gap), "SIGKILL", "the gap was not passed");
    assert.equal(await live(folder, undefined), 0);
  });
}
