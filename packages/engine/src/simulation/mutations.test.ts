import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { currentPart } from "@mooring/store/testing";

interface Mutation {
  what: string;
  /** From `packages/engine/src`. */
  file: string;
  from: string;
  to: string;
  caught: string[];
}

const read = (path: string) => readFile(new URL(path, import.meta.url), "utf8");
const MUTATIONS: Mutation[] = JSON.parse(await read("mutations.json"));
/** S22 has no check of its own: see properties.test.ts. */
const WITHOUT_CHECK = ["S22"];

describe("the ways in which the arbiter is broken, to see that the histories notice", () => {
  test("each still has its one place in the code", async () => {
    for (const { what, file, from, to } of MUTATIONS) {
      const parts = (await read(`../${file}`)).split(from);
      assert.equal(parts.length, 2, `${what}: its text is ${parts.length - 1} times in ${file}`);
      assert.notEqual(from, to, what);
    }
  });

  test("each property that is checked is named by one", async () => {
    const { checked } = JSON.parse(await read("properties.json"));
    const caught = new Set([...MUTATIONS.flatMap((mutation) => mutation.caught), ...WITHOUT_CHECK]);
    assert.deepEqual(
      Object.keys(checked).filter((property) => !caught.has(property)),
      [],
    );
  });

  if (currentPart() === "deep") {
    test("each is caught by a property that it names", async (t) => {
      const script = fileURLToPath(new URL("../../../../scripts/mutate-arbiter.mjs", import.meta.url));
      const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
      let output = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
      const [code] = await once(child, "close");
      t.diagnostic(output);
      assert.equal(code, 0, output);
    });
  }
});
