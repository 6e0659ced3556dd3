import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createHost } from "../host/create-host.ts";
import type { Host } from "../host/host.ts";
import { MIB, scratch } from "../testing/scratch.ts";
import { poolContract } from "./contract.ts";
import { createPool } from "./create-pool.ts";
import { fileContract } from "./file-contract.ts";

const host = createHost();
poolContract({ type: "directory", host });
fileContract("directory", host);

test("a pool where no folder can be made says so, instead of trying for ever", async () => {
  const pool = createPool("directory", { host: createHost(), path: "/proc/none/pool" });
  await assert.rejects(pool.open(), /the folder \/proc\/none cannot be made/);
  assert.equal(pool.isOpen, false);
});

test("a restored folder is there at any moment, however long the old one takes to remove", async (t) => {
  const dir = await scratch(t, host);
  let whileRemoved: string | undefined;
  // Folders nested deeper than a path can name are removed by a program, so that there is a moment in the middle.
  const run: Host["exec"]["run"] = async (file, args, options) => {
    if (file === "rm") {
      const image = await pool.find("v-p-1");
      whileRemoved = image && (await readFile(join(image.path, "file"), "utf8"));
    }
    return host.exec.run(file, args, options);
  };
  const slow = { ...host, exec: { ...host.exec, run } };
  const pool = createPool("directory", { host: slow, path: join(dir, "pool") });
  await pool.open();
  const [old, other] = [await pool.create("v-p-1", MIB), await pool.create("v-p-2", MIB)];
  await writeFile(join(other.path, "file"), "restored");
  const nest = `chdir $ARGV[0] or die; for (1 .. 30) { mkdir "d" x 200; chdir "d" x 200 or die }`;
  await host.exec.run("perl", ["-e", nest, old.path]);
  await pool.replace("v-p-2", "v-p-1", MIB);
  assert.equal(whileRemoved, "restored");
  await pool.close();
});
