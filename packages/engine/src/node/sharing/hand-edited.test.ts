import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Leases, mutate } from "@mooring/store";
import { LEASE_NAMESPACE } from "../../api/names.ts";
import { type VolumeStatus, Volumes } from "../../api/volume.ts";
import { makeFilesystem } from "../../host/filesystems.ts";
import { leaseName } from "../../leases/lease-watch.ts";
import { until, volumeObject } from "../../testing/agent.ts";
import { twoNodes } from "../../testing/two-nodes.ts";
import { addTicket, removeTickets } from "../../tickets/tickets.ts";

const EDITS: readonly [string, (status: VolumeStatus) => VolumeStatus | undefined][] = [
  ["another owner", (status) => ({ ...status, ownerID: "node-2" })],
  ["no owner", (status) => ({ ...status, ownerID: "" })],
  ["a node that does not exist", (status) => ({ ...status, ownerID: "nobody" })],
  [
    "detached, and another owner",
    ({ currentNodeID: _, device: __, ...status }) => ({ ...status, state: "detached", ownerID: "node-2" }),
  ],
  [
    "attached to the other node",
    (status) => ({ ...status, ownerID: "node-2", currentNodeID: "node-2", device: "/dev/loop9999" }),
  ],
  ["no status at all", () => undefined],
];

test("whatever is written by hand about the owner of a shared pool's volume, the node that has it keeps device and lease", async (t) => {
  const { store, host, dir, image } = await twoNodes(t);
  await store.create(Volumes, volumeObject("v-p-1"));
  await until(store, Volumes, "v-p-1", (v) => v.status?.state === "detached");
  await addTicket(store, "v-p-1", { id: "w", type: "csi-attacher", nodeID: "node-1" }, { now: new Date() });
  const attached = () =>
    until(store, Volumes, "v-p-1", ({ status }) => {
      const here = status?.currentNodeID === "node-1" && status.ownerID === "node-1";
      return here && status.state === "attached" && status.device === device;
    });
  const loopOn = (nodeID: string) => host.loops.find(image(nodeID, "v-p-1"));
  const opened = await until(store, Volumes, "v-p-1", (v) => v.status?.state === "attached");
  const { device = "" } = opened.status ?? {};
  const loop = await loopOn("node-1");
  await makeFilesystem(host.exec, { device, type: "ext4", formatted: undefined });
  const target = join(dir, "m");
  await mkdir(target);
  await host.mounts.mount({ source: device, target, fsType: "ext4" });
  const lease = () => store.get(Leases, { namespace: LEASE_NAMESPACE, name: leaseName("v-p-1") });
  const holder = (await lease()).spec?.holderIdentity;

  for (const [what, change] of EDITS) {
    await mutate(
      store,
      Volumes,
      { name: "v-p-1" },
      {
        change: ({ status, ...rest }) => {
          const next = change(status ?? assert.fail("no status"));
          return next === undefined ? rest : { ...rest, status: next };
        },
        subresource: "status",
      },
    );
    await attached().catch((cause: unknown) => assert.fail(`${what}: ${String(cause)}`));
    assert.deepEqual(await loopOn("node-1"), loop, what);
    assert.equal(await loopOn("node-2"), undefined, what);
    assert.equal((await lease()).spec?.holderIdentity, holder, what);
    await writeFile(join(target, "f"), what, { flush: true });
    assert.equal(await readFile(join(target, "f"), "utf8"), what);
  }

  await host.mounts.unmount(target);
  await removeTickets(store, "v-p-1", () => true);
  await until(store, Volumes, "v-p-1", ({ status }) => status?.state === "detached" && status.ownerID === "");
  await addTicket(store, "v-p-1", { id: "x", type: "csi-attacher", nodeID: "node-2" }, { now: new Date() });
  await until(store, Volumes, "v-p-1", ({ status }) => status?.currentNodeID === "node-2");
});
