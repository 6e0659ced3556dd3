import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Command } from "commander";
import { withConfigFile } from "./config-file.ts";
import { withHostOptions } from "./host-options.ts";

/** What the command gets that is started with a file of this text. */
async function read(t: TestContext, text: string, args: string[] = []): Promise<Record<string, unknown>> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-config-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "config.yaml");
  await writeFile(file, text);
  let got: Record<string, unknown> = {};
  const command = withConfigFile(withHostOptions(new Command("up"))).action((options) => {
    got = options;
  });
  await command.exitOverride().parseAsync(["--config", file, ...args], { from: "user" });
  return got;
}

test("a file gives options by their long names, parsed as on the command line, which wins", async (t) => {
  const text = "pool-size: 1Gi\npool: btrfs\npool-overcommit: 2\nlog-level: debug\n";
  const options = await read(t, text, ["--log-level", "warn"]);
  assert.deepEqual(
    [options["poolSize"], options["pool"], options["poolOvercommit"], options["logLevel"]],
    [1024 ** 3, "btrfs", 2, "warn"],
  );
  assert.equal(options["stateDir"], "/var/lib/mooring");
});

test("what may be repeated is a list, or one text", async (t) => {
  const pools = async (text: string) => {
    const { sharedPool } = await read(t, text);
    return (sharedPool as { name: string }[]).map(({ name }) => name);
  };
  assert.deepEqual(await pools("shared-pool: [a=/mnt/a, b=/mnt/b]"), ["a", "b"]);
  assert.deepEqual(await pools("shared-pool: a=/mnt/a"), ["a"]);
  assert.deepEqual(await pools("# nothing\n"), []);
});

test("what no option takes is refused, with the file, the name and what there is", async (t) => {
  for (const [text, message] of [
    ["poolSize: 1Gi", /config\.yaml: poolSize is no option of mooring up/],
    ["config: other.yaml", /config is no option/],
    ["pool-size: 1Mi", /pool-size: 1Mi is invalid\. Use at least 300Mi/],
    ["pool: zfs", /pool: zfs is invalid\. Allowed choices are xfs, btrfs, directory/],
    ["pool-size: [1Gi, 2Gi]", /pool-size has one value/],
    ["pool-size: {a: 1}", /pool-size: \{"a":1\} is neither a text nor a number/],
    ["state-dir: null", /state-dir: null is neither/],
    ["shared-pool: [fast]", /is not a pool and its folder/],
    ["- pool-size", /is not a mapping of options/],
    ["pool: [", /is not YAML/],
  ] as const)
    await assert.rejects(read(t, text), message, text);
});

test("a file that is not there is named", async () => {
  const command = withConfigFile(new Command("up")).action(() => {});
  await assert.rejects(
    command.parseAsync(["--config", "/nowhere/mooring.yaml"], { from: "user" }),
    /--config \/nowhere\/mooring\.yaml cannot be read: ENOENT/,
  );
});
