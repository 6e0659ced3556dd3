import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Command, Option } from "commander";
import { placesOf } from "./places.ts";
import { COMPLETION_SCRIPTS } from "./scripts.ts";

const run = promisify(execFile);
const MOORING = fileURLToPath(new URL("../../../../dist/mooring.mjs", import.meta.url));

function program(): Command {
  const root = new Command("mooring");
  const volume = root.command("volume").description("an operator's volumes");
  volume.command("attach").option("-n, --node <name>", "where").option("--queue", "wait");
  root.command("up").addOption(new Option("--pool <type>", "kind").choices(["xfs", "btrfs"]));
  return root;
}

/** What bash offers after a line of words, the last of which is being typed. */
async function offered(script: string, ...words: string[]): Promise<string[]> {
  const line = ["mooring", ...words];
  const ask = `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mooring; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run("bash", ["-c", ask, "bash", ...line]);
  return stdout.split("\n").filter((word) => word !== "");
}

describe("mooring completion", () => {
  test("bash offers the commands and options of the place where the cursor is", async () => {
    const script = COMPLETION_SCRIPTS.bash(placesOf(program()));
    assert.deepEqual(await offered(script, ""), ["volume", "up", "-h", "--help"]);
    assert.deepEqual(await offered(script, "vo"), ["volume"]);
    assert.deepEqual(await offered(script, "volume", "a"), ["attach"]);
    assert.deepEqual(await offered(script, "volume", "attach", "v-1", "--"), ["--node", "--queue", "--help"]);
    assert.deepEqual(await offered(script, "up", "--p"), ["--pool"]);
    assert.deepEqual(await offered(script, "nonsense", "x"), []);
  });

  test("zsh and fish get the same completions", () => {
    const places = placesOf(program());
    const zsh = COMPLETION_SCRIPTS.zsh(places);
    assert.match(zsh, /"mooring volume attach"\) compadd -- -n --node --queue -h --help ;;/);
    const fish = COMPLETION_SCRIPTS.fish(places);
    assert.match(fish, /-n '__mooring_at "mooring"' -f -a volume -d 'an operator’s volumes'/);
    assert.match(fish, /-n '__mooring_at "mooring up"' -l pool -r -f -a 'xfs btrfs' -d 'kind'/);
  });

  test("the real program prints one that bash reads, and refuses a shell that it does not know", async () => {
    const { stdout } = await run(process.execPath, [MOORING, "completion", "bash"], { timeout: 120_000 });
    assert.ok((await offered(stdout, "ticket", "")).includes("add"));
    assert.ok((await offered(stdout, "volume", "attach", "v", "--")).includes("--node"));
    const ofGroups = await offered(stdout, "group", "");
    for (const each of ["clone", "revert", "restore", "snapshot", "expand"])
      assert.ok(ofGroups.includes(each), `group ${each} is not among ${ofGroups}`);
    assert.deepEqual(await offered(stdout, "group", "cl"), ["clone"]);
    assert.ok((await offered(stdout, "group", "clone", "copy", "--")).includes("--from"));
    await assert.rejects(run(process.execPath, [MOORING, "completion", "tcsh"], { timeout: 120_000 }), {
      code: 2,
    });
  });
});
