import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "@mooring/store";
import { ImageWatch, type ImageWatchContext } from "./images.ts";

test("one read of a pool serves its volumes and its snapshots, and asks for what is lost or truncated", async () => {
  const stop = new AbortController();
  let reads = 0;
  const backend = {
    isOpen: true,
    list: async () => {
      reads += 1;
      return [
        { id: "v-whole", size: 10 },
        { id: "v-truncated", size: 9 },
        { id: "s-whole", size: 0 },
      ];
    },
  };
  const pools = { list: () => [{ name: "p", backend }] };
  let rounds = 0;
  const clock = {
    sinceBoot: () => 0,
    sleep: async () => {
      rounds += 1;
      if (rounds > 3) stop.abort();
    },
  };
  const asked: string[] = [];
  const watch = new ImageWatch();
  for (const names of [["v-whole", "v-truncated"], ["s-whole", "s-lost"], []]) {
    const wholes = names.map((name) => ({ name, pool: "p", size: name.startsWith("v") ? 10 : 0 }));
    watch.add({ wholes: () => wholes, ask: (name) => asked.push(name) });
  }
  // Sound: of a pool it reads these alone.
  const context = { host: { clock }, healthMs: 10, signal: stop.signal, logger: silentLogger, pools };
  await watch.run(context as unknown as ImageWatchContext);
  assert.equal(reads, 3);
  assert.deepEqual(asked, ["v-truncated", "s-lost", "v-truncated", "s-lost", "v-truncated", "s-lost"]);
});
