import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { failpointNames } from "@mooring/store";
import "../index.ts";
import { ScriptedDriver } from "../testing/scripted-driver.ts";
import { bundleChild } from "./bundle.ts";

const bundle = await bundleChild();
after(bundle.remove);
const DEADLINE_MS = 60_000;

type Part = "build" | "tear-down";

/** A storage system, and a store folder that lives of control planes follow each other on. */
class Place {
  readonly driver: ScriptedDriver;
  readonly #folder: string;

  constructor(driver: ScriptedDriver, folder: string) {
    this.driver = driver;
    this.#folder = folder;
  }

  /** One life; true when it was killed at the gap, false when it did its part. */
  live(part: Part, gap?: string): Promise<boolean> {
    const { MOORING_FAILPOINT: _none, ...env } = process.env;
    const life = spawn(process.execPath, [bundle.path, this.#folder, this.driver.endpoint, part], {
      env: gap === undefined ? env : { ...env, MOORING_FAILPOINT: gap },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let output = "";
    life.stderr.on("data", (data: Buffer) => {
      output += data.toString();
    });
    const timer = setTimeout(() => life.kill("SIGTERM"), DEADLINE_MS);
    return new Promise((resolve, reject) => {
      life.on("exit", (code, signal) => {
        clearTimeout(timer);
        if (signal === "SIGKILL" && gap !== undefined) resolve(true);
        else if (code === 0) resolve(false);
        else reject(new Error(`${part} ended with ${code ?? signal}: ${output}`));
      });
    });
  }

  assertBuilt(): void {
    const { volumes, snapshots } = this.driver.backend;
    const names = [...volumes.values()].map(({ name }) => name);
    assert.equal(volumes.size, 3, `volumes: ${names.join()}`);
    assert.equal(snapshots.size, 1);
    assert.equal([...volumes.values()].filter(({ publishedTo }) => publishedTo.size === 1).length, 1);
  }

  assertEmpty(): void {
    assert.equal(this.driver.backend.volumes.size, 0);
    assert.equal(this.driver.backend.snapshots.size, 0);
  }
}

async function withPlace<T>(use: (place: Place) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-crash-"));
  const driver = await ScriptedDriver.start({ segments: { zone: "a" } });
  try {
    return await use(new Place(driver, folder));
  } finally {
    await driver.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Gaps that this story does not come through, and why; each has a test of its own beside its controller. */
const NOT_IN_THIS_STORY: ReadonlySet<string> = new Set([
  "sidecars/provision/rescheduled",
  "sidecars/reclaim/finalizer-added",
  "sidecars/snapshot/content-bound",
  "sidecars/snapshot-content/guarded",
  "sidecars/resize/handed-to-node",
  "sidecars/resize/pre-resize-forgotten",
  "sidecars/capacity/written",
  "sidecars/capacity/deleted",
  "sidecars/health/condition-told",
  "sidecars/provision/volume-removed",
  "sidecars/snapshot-content/marked-being-created",
]);
const UNSETTLED =
  /provision\/(source|record|volume|object)|snapshot-content\/(cut|status)|snapshot\/content-created|attach\/published/;
const gaps = failpointNames().filter((name) => name.startsWith("sidecars/") && !NOT_IN_THIS_STORY.has(name));

describe("control planes that are killed", { concurrency: 2 }, () => {
  for (const gap of gaps) {
    test(`killed at ${gap}: the next life ends with the same result`, async () => {
      await withPlace(async (place) => {
        const killedInBuild = await place.live("build", gap);
        if (killedInBuild) await place.live("build");
        place.assertBuilt();
        const killed = (await place.live("tear-down", killedInBuild ? undefined : gap)) || killedInBuild;
        if (!killedInBuild) await place.live("tear-down");
        place.assertEmpty();
        assert.ok(killed, `${gap} was never passed`);
      });
    });
  }

  // Where something exists that only the storage system and a note of ours know about.
  for (const gap of gaps.filter((name) => UNSETTLED.test(name))) {
    test(`killed at ${gap}, and everything is deleted at once: nothing is left`, async () => {
      await withPlace(async (place) => {
        await place.live("build", gap);
        await place.live("tear-down");
        place.assertEmpty();
      });
    });
  }
});
