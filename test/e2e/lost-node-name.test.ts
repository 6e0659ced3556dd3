import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { mooring } from "../support/mooring.ts";
import { nothingRemains } from "../support/remains.ts";
import { Up } from "../support/up.ts";

const up = await Up.create({ pool: "directory" });
after(() => up.dispose());
await up.start();
assert.equal(await up.end("SIGTERM"), 0);

const { stateDir } = up;
const file = join(stateDir, "node-name");
assert.equal(await readFile(file, "utf8"), "node-a\n");

const startAs = (name: string) =>
  mooring(
    "up",
    "--state-dir",
    stateDir,
    "--pool",
    "directory",
    "--listen",
    "127.0.0.1:0",
    "--node-name",
    name,
  );

for (const [how, lose] of Object.entries({
  removed: () => rm(file),
  emptied: () => writeFile(file, ""),
}))
  test(`with node-name ${how}, another node is refused as with it, and the same one writes it anew`, async () => {
    const known = await startAs("node-b");
    assert.equal(known.code, 2, known.stderr);
    assert.match(known.stderr, /is the state of node node-a, not of node-b\nnext: .*--node-name node-a/);
    await lose();
    const { code, stderr } = await startAs("node-b");
    const refusal = stderr.split("\n").filter((line) => /^(error|next): /.test(line));
    assert.deepEqual(refusal, known.stderr.trim().split("\n"));
    assert.equal(code, known.code);
    assert.equal(await readFile(file, "utf8").catch(() => ""), "");
    await nothingRemains(stateDir);
    await up.start();
    assert.equal(await readFile(file, "utf8"), "node-a\n");
    assert.equal(await up.end("SIGTERM"), 0);
  });
