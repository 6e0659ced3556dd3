import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Pools } from "@mooring/engine";
import { Events, mutate } from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { mooring } from "../support/mooring.ts";
import { Up } from "../support/up.ts";

const GIB = 1024 ** 3;
const up = await Up.create({ poolSize: "1Gi" });
after(() => up.dispose());

const sizeOf = async () => (await (await up.store()).get(Pools, { name: "default" })).spec.size;
const startWith = (size: string) =>
  mooring(
    ...["up", "--state-dir", up.stateDir, "--listen", "127.0.0.1:0", "--node-name", "node-a"],
    ...["--pool-size", size],
  );

test(
  "a pool keeps the size that it has grown to; a smaller one than was asked for is refused",
  thorough(),
  async () => {
    await up.start();
    const store = await up.store();
    await mutate(store, Pools, { name: "default" }, ({ spec }) => {
      spec.size = 2 * GIB;
    });
    await eventually("the pool to grow", async () => {
      const { status } = await store.get(Pools, { name: "default" });
      return (status?.totalBytes ?? 0) > 1.5 * GIB;
    });
    assert.equal(await up.end("SIGTERM"), 0);
    const { code, stderr } = await startWith("512Mi");
    assert.equal(code, 2, stderr);
    assert.match(stderr, /^error: pool "default" has 2 GiB, and is to have 512 MiB: no pool gets smaller$/m);
    assert.match(stderr, /^next: ask for no size, which leaves it as it is, or for at least 2Gi$/m);
    // What it was made with, as before: it starts, and says that the pool has another size, and what to do.
    assert.doesNotMatch(up.output, /no pool gets smaller/);
    await up.start();
    assert.equal(await sizeOf(), 2 * GIB);
    const notice =
      /pool \\?"default\\?" has 2 GiB, more than the 1 GiB that it is started with, and keeps them, as no pool gets smaller: start with --pool-size 2Gi, or without --pool-size/;
    assert.match(up.output, notice);
    const { items } = await (await up.store()).list(Events);
    const event = items.find(({ reason }) => reason === "SettingsDiffer");
    assert.match(event?.message ?? "", notice);
    assert.equal(event?.involvedObject?.name, "default");
  },
);

test("status -o wide has more columns of pools", thorough(), async () => {
  const { code, stdout, stderr } = await mooring("status", "-o", "wide", "--kubeconfig", up.kubeconfig);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^POOL .*PROMISED +THICK +OVERCOMMIT +PATH$/m);
  assert.match(stdout, new RegExp(`^default +xfs .* 0 B +1 +${up.stateDir}/pools/default$`, "m"));
});

test(
  "the help of up says what happens to the writers of a full pool unless somebody asks",
  thorough(),
  async () => {
    const { stdout } = await mooring("up", "--help");
    const words = stdout.replace(/\s+/g, " ");
    assert.match(
      words,
      /its writers fail \(the default\), or wait where spec\.holdWriters of the Pool is true/,
    );
  },
);
