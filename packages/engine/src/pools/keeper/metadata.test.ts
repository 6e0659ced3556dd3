import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import { createHost } from "../../host/create-host.ts";
import { allocateAll } from "../../testing/allocate-all.ts";
import { MIB, scratch } from "../../testing/scratch.ts";
import { createPool } from "../create-pool.ts";
import { PoolKeeper } from "./keeper.ts";
import { keeperLevels } from "./levels.ts";

const host = createHost();

/** Small files, which btrfs keeps in its metadata, until a file says that it is enough. Fails when a write does. */
const WRITER = `
use strict;
my ($folder, $enough) = @ARGV;
mkdir $folder or die;
for (my $n = 0; !-e $enough; $n++) {
  open(my $f, '>', "$folder/$n") or die "$n: $!";
  syswrite($f, 'x' x 2000) or die "$n: $!";
  close $f or die "$n: $!";
}
`;

/** Grows the pool's file, and the file system in it while the keeper leaves it open. */
async function grow(folder: string, size: number, keeper: PoolKeeper): Promise<void> {
  const image = join(folder, "pool.img");
  await truncate(image, size);
  await host.loops.refresh((await host.loops.find(image))?.path ?? "");
  await keeper.window(() => host.exec.run("btrfs", ["filesystem", "resize", "max", join(folder, "mnt")]));
}

async function bytesLeft(mount: string): Promise<number> {
  const { stdout } = await host.exec.run("stat", ["--file-system", "--format=%a %S", mount]);
  const [blocks = 0, size = 0] = stdout.split(" ").map(Number);
  return blocks * size;
}

test(
  "a btrfs whose metadata is used up holds its writers while there is room for data",
  thorough(),
  async (t) => {
    const dir = await scratch(t, host);
    const [folder, enough] = [join(dir, "pool"), join(dir, "enough")];
    const mount = join(folder, "mnt");
    const pool = createPool("btrfs", { host, path: folder, size: 512 * MIB, overcommit: 10 });
    await pool.open();
    await allocateAll(host, mount);
    const keeper = new PoolKeeper(host, folder, "btrfs");
    await keeper.ensure(keeperLevels((await pool.usage()).totalBytes));
    const writer = spawn("perl", ["-e", WRITER, join(mount, "small"), enough]);
    const ended = once(writer, "exit");
    let said = "";
    writer.stderr.on("data", (text) => {
      said += text;
    });
    try {
      await eventually("the writer to be frozen", async () => {
        assert.equal(writer.exitCode, null, said);
        return (await keeper.state()) === "held";
      });
      const left = await bytesLeft(mount);
      assert.ok(left > 64 * MIB, `only ${left} bytes are left for data`);
      await grow(folder, 1024 * MIB, keeper);
      await eventually("the writer to go on", async () => (await keeper.state()) === "open");
    } finally {
      // Here and not after the test: the folder goes first then, and nobody unmounts what is frozen.
      await writeFile(enough, "");
      await keeper.stop();
      await host.exec.try("fsfreeze", ["--unfreeze", mount]);
    }
    assert.deepEqual(await ended, [0, null], said);
    await pool.close();
  },
);
