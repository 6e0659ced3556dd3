import assert from "node:assert/strict";
import { test } from "node:test";
import { createHost } from "../host/create-host.ts";
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
