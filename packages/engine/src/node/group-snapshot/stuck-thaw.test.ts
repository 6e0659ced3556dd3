import assert from "node:assert/strict";
import { readdir, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { test } from "node:test";
import { mutate } from "@mooring/store";
import { covers, eventually } from "@mooring/store/testing";
import { GroupSnapshots } from "../../api/group-snapshot.ts";
import { until } from "../../testing/agent.ts";
import { Cluster } from "../../testing/cluster.ts";
import { writeInPieces } from "./testing/in-pieces.ts";
import { playNode, playPrepared } from "./testing/play-node.ts";
import { groupObject, mountVolume } from "./testing/story.ts";

/** Kills all that keep the file system at this path frozen, as the death of their container does. */
async function killFreezers(mount: string): Promise<void> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const args = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
    if (!args.includes("mooring-freeze") || !args.includes(mount)) continue;
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // One of them has taken it along.
    }
  }
}

test("a group that fails while a file system cannot be thawed leaves none of its copies", async (t) => {
  covers("KEP-002");
  const cluster = await Cluster.open(t, [{ name: "x", type: "xfs", node: "a" }]);
  const { store, host } = cluster;
  await cluster.volume("v-1", "x");
  const image = cluster.image("v-1", "x");
  await writeInPieces(image);
  const mount = await mountVolume(cluster, "v-1", "a");
  await playNode(store, "z", "far", "v-2");
  const images = () => readdir(dirname(image));
  const group = groupObject("g-1", [], { deadlineSeconds: 60 });
  group.spec.members = [
    { volume: "v-1", snapshot: "s-1", pool: "x" },
    { volume: "v-2", snapshot: "s-2", pool: "far" },
  ];
  await store.create(GroupSnapshots, group);
  await playPrepared(store, { node: "z", volume: "v-2", snapshot: "s-2", group: "g-1" });
  await until(store, GroupSnapshots, "g-1", ({ status }) => status?.nodes?.["a"]?.phase === "quiesced");
  assert.equal((await images()).length, 2);
  await killFreezers(mount);
  // What is frozen is not found at its path any more.
  const folder = dirname(mount);
  await rename(folder, `${folder}-moved`);
  try {
    const failed = { attempt: 1, phase: "failed", error: { code: "UNAVAILABLE", message: "no" } } as const;
    await mutate(
      store,
      GroupSnapshots,
      { name: "g-1" },
      {
        change: ({ status }) => {
          if (status?.nodes !== undefined) status.nodes["z"] = failed;
        },
        subresource: "status",
      },
    );
    await eventually("the copy to go", async () => (await images()).join() === "v-1.img");
  } finally {
    await rename(`${folder}-moved`, folder);
    await host.exec.try("fsfreeze", ["--unfreeze", mount]);
  }
});
