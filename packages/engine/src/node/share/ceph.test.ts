import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { cephOfFile, withCeph } from "@mooring/store/testing";
import { MIB } from "../../testing/scratch.ts";
import {
  killServer,
  layout,
  NAME,
  over,
  read,
  readPatiently,
  running,
  served,
  share,
  write,
  XFS,
} from "./testing.ts";

const withCluster = await withCeph();
const cluster = cephOfFile(after);

test(
  "a volume in a Ceph cluster is served to other nodes, grows meanwhile, and its server comes back",
  withCluster,
  async (t) => {
    const ceph = await cluster();
    const bench = await served(t, XFS, await ceph.rbdPool());
    await write(bench, "f", "from afar");
    assert.equal(await readFile(join(layout(bench).mount, "f"), "utf8"), "from afar");
    await writeFile(join(layout(bench).mount, "g"), "from here");
    assert.equal(await read(bench, "g"), "from here");

    await bench.resize(NAME, 512 * MIB);
    await share(bench, ({ status }) => status?.size === 512 * MIB && status.state === "running");

    const endpoint = await running(bench);
    await killServer(bench);
    assert.equal(await running(bench), endpoint);
    assert.equal(await readPatiently(bench, "f"), "from afar");
    await over(bench);
  },
);
