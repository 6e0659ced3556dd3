import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { type GroupSnapshot, GroupSnapshots } from "../../api/group-snapshot.ts";
import { Volumes } from "../../api/volume.ts";
import { makeFilesystem } from "../../host/filesystems.ts";
import { until } from "../../testing/agent.ts";
import { apart } from "../../testing/apart.ts";
import { Cluster } from "../../testing/cluster.ts";
import { addTicket } from "../../tickets/tickets.ts";
import { gone, groupObject } from "./testing/story.ts";
import { useVolume } from "./testing/use-volume.ts";

const ended = (group: GroupSnapshot): boolean => ["ready", "failed"].includes(group.status?.state ?? "");

/** A volume with a file system on node `a`, mounted nowhere; its device. */
async function attachedVolume(cluster: Cluster, name: string): Promise<string> {
  const { store, host } = cluster;
  await cluster.volume(name, "x");
  await addTicket(store, name, { id: "csi-w", type: "csi-attacher", nodeID: "a" }, { now: new Date() });
  const { status } = await until(store, Volumes, name, (v) => v.status?.device !== undefined);
  const device = status?.device ?? "";
  await makeFilesystem(host.exec, { device, type: "ext4", formatted: undefined });
  return device;
}

/** Mounts the device below the folder where only this process sees it, until `end`. */
async function mountElsewhere(folder: string, device: string, target: string) {
  const script = 'mount -t ext4 "$1" "$2" && echo mounted && read line';
  const child = spawn("unshare", apart(folder, "sh", "-c", script, "sh", device, target), {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  assert.equal(child.exitCode, null, "it is mounted");
  const exited = once(child, "exit");
  return {
    end: async (): Promise<void> => {
      child.stdin.end();
      await exited;
    },
  };
}

test("a member that is mounted where the agent does not see it for a moment, as while a container starts, does not refuse its group", async (t) => {
  const cluster = await Cluster.open(t, [{ name: "x", type: "xfs", node: "a" }]);
  const { host, store, dir } = cluster;
  await useVolume(cluster, "v-1", "x", { access: "mounted" });
  const device = await attachedVolume(cluster, "v-2");
  const target = join(dir, "elsewhere");
  await mkdir(target);
  const container = await mountElsewhere(dir, device, target);
  t.after(() => container.end());
  const { users } = host.loops;
  let reads = 0;
  t.mock.method(host.loops, "users", async (of: string) => {
    const seen = await users(of);
    // The group has seen it; the container goes its way.
    if (of === device && seen.length > 0 && ++reads === 1) await container.end();
    return seen;
  });
  await store.create(GroupSnapshots, groupObject("g-1", ["v-1", "v-2"], { pool: "x", deadlineSeconds: 60 }));
  const { status } = await until(store, GroupSnapshots, "g-1", ended);
  assert.equal(status?.state, "ready", JSON.stringify(status));
  assert.ok(reads >= 1, "the group met it");
  await gone(store, GroupSnapshots, "g-1");
});
