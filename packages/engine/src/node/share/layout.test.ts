import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { sha256 } from "@mooring/store";
import { createHost } from "../../host/create-host.ts";
import { scratch } from "../../testing/scratch.ts";
import { sharePath } from "./layout.ts";

/** As a kubelet does before it unmounts a staging path (Kubernetes 1.35, `hasMountRefs`): true keeps it from that. */
function hasMountRefs(staging: string, others: readonly string[]): boolean {
  const from = staging.indexOf("/plugins/kubernetes.io/");
  return others.some((other) => !other.includes(from === -1 ? staging : staging.slice(from)));
}

test("what the serving node has mounted keeps no kubelet from unmounting the staging path", () => {
  const staging = (root: string, volume: string) =>
    `${root}/plugins/kubernetes.io/csi/csi.mooring.dev/${sha256(volume)}/globalmount`;
  for (const root of ["/var/lib/kubelet", "/var/lib/k0s/kubelet"]) {
    assert.equal(hasMountRefs(staging(root, "v-1"), [sharePath("/var/lib/mooring", "v-1")]), false);
    assert.equal(hasMountRefs(staging(root, "v-1"), [sharePath("/var/lib/mooring", "v-2")]), true);
  }
});

test("what an earlier version has mounted stays where it is, until it is unmounted", async (t) => {
  const host = createHost();
  const dir = await scratch(t, host);
  const mnt = join(dir, "shares", "v-1", "mnt");
  await mkdir(mnt, { recursive: true });
  assert.notEqual(sharePath(dir, "v-1"), mnt);
  await host.exec.run("mount", ["-t", "tmpfs", "tmpfs", mnt]);
  assert.equal(sharePath(dir, "v-1"), mnt);
  await host.mounts.unmount(mnt);
  assert.notEqual(sharePath(dir, "v-1"), mnt);
});
