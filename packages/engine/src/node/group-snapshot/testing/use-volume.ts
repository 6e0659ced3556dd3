import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { Volumes } from "../../../api/volume.ts";
import { absent } from "../../../pools/file-images.ts";
import { until } from "../../../testing/agent.ts";
import type { Cluster } from "../../../testing/cluster.ts";
import type { Hooks } from "../../../testing/scratch.ts";
import { addTicket } from "../../../tickets/tickets.ts";
import { layOut } from "./ordered-blocks.ts";
import { mountVolume } from "./story.ts";

export type Access = "mounted" | "raw";

/** Where the version 2 control groups are; the tests of raw devices need them. */
const CGROUPS = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].find((path) =>
  existsSync(join(path, "cgroup.controllers")),
);

/** A group for the writer, removed after the test. */
export async function controlGroup(t: Hooks): Promise<string> {
  assert.ok(CGROUPS, "this machine has no cgroup2 hierarchy");
  const path = join(CGROUPS, `mooring-test-${randomUUID()}`);
  await mkdir(path);
  t.after(() => rmdir(path).catch(absent));
  return path;
}

/** A new volume in use on a node; where an ordered writer may write. */
export async function useVolume(
  cluster: Cluster,
  name: string,
  pool: string,
  { access, node = cluster.nodeOf(pool) }: { access: Access; node?: string },
): Promise<string> {
  await cluster.volume(name, pool);
  if (access === "mounted") {
    const file = join(await mountVolume(cluster, name, node), "ordered");
    await layOut(file);
    return file;
  }
  await addTicket(
    cluster.store,
    name,
    { id: "csi-w", type: "csi-attacher", nodeID: node },
    { now: new Date() },
  );
  const volume = await until(cluster.store, Volumes, name, (v) => v.status?.device !== undefined);
  const device = volume.status?.device ?? "";
  await layOut(device);
  return device;
}
