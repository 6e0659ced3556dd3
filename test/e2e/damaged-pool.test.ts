import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { thorough } from "@mooring/store/testing";
import { hasStarted, startCountingPod } from "../support/counting-pod.ts";
import { Kubectl } from "../support/kubectl.ts";
import { mooring } from "../support/mooring.ts";
import { Up } from "../support/up.ts";

/** Where the first superblock is, in bytes: without it no kernel mounts the file system. */
const SUPERBLOCKS = { xfs: 0, btrfs: 64 * 1024 } as const;

for (const pool of ["xfs", "btrfs"] as const)
  test(
    `a ${pool} pool that cannot be mounted is named with what repairs it, and its volumes are there then`,
    thorough(),
    async (t) => {
      const up = await Up.create({ pool, poolSize: "1Gi" });
      t.after(() => up.dispose());
      await up.start();
      const kubectl = new Kubectl(up.kubeconfig);
      await startCountingPod(kubectl);
      assert.equal(await up.end("SIGTERM"), 0);

      const image = join(up.stateDir, "pools", "default", "pool.img");
      const file = await open(image, "r+");
      await file.write(Buffer.alloc(4096), 0, 4096, SUPERBLOCKS[pool]);
      await file.sync();
      await file.close();
      const where = ["--state-dir", up.stateDir, "--listen", "127.0.0.1:0", "--node-name", "node-a"];
      const { code, stderr } = await mooring("up", ...where, "--pool", pool);
      assert.equal(code, 2, stderr);
      assert.match(
        stderr,
        new RegExp(`^error: .*the ${pool} file system in ${image} cannot be mounted, as it is damaged`, "m"),
      );
      assert.match(stderr, /^next: do what it says, and start again/m);
      const [, advice = ""] = /^error: .*repair it with: ([^;)]+)/m.exec(stderr) ?? [];
      const [program = "", ...args] = advice.trim().split(" ");
      // btrfs exits with 2 when it has recovered one; whether it has, the start shows.
      await promisify(execFile)(program, args).catch(({ code: exit }) => assert.equal(exit, 2));
      await up.start();
      await hasStarted(kubectl, 2);
    },
  );
