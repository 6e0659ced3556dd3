import assert from "node:assert/strict";
import { mkdir, rename, rm, rmdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { nothingRemains } from "../support/remains.ts";
import { Up } from "../support/up.ts";

test("an image that is no file any more is that volume's fault, not its pool's", async (t) => {
  const up = await Up.create({ poolSize: "1Gi" });
  t.after(() => up.discard());
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  const names = ["folder", "link", "good"];
  for (const name of names) await kubectl.apply(JSON.stringify(claim("default", name)));
  const handles = new Map<string, string>();
  for (const name of names) {
    await kubectl.run("wait", `pvc/${name}`, "--for=jsonpath={.status.phase}=Bound", "--timeout=60s");
    const volume = await kubectl.run("get", "pvc", name, "-o", "jsonpath={.spec.volumeName}");
    handles.set(name, await kubectl.run("get", "pv", volume, "-o", "jsonpath={.spec.csi.volumeHandle}"));
  }
  // The pool stays mounted.
  await up.end("SIGKILL");
  const images = join(up.stateDir, "pools", "default", "mnt", "images");
  const image = (name: string) => join(images, `${handles.get(name)}.img`);
  await rm(image("folder"));
  await mkdir(image("folder"));
  const elsewhere = join(up.stateDir, "elsewhere.img");
  await rm(image("link"));
  await writeFile(elsewhere, "kept");
  await symlink(elsewhere, image("link"));
  await up.start({}, { mayDie: true });
  assert.equal(up.alive, true, up.output.slice(-800));
  const why = await mooring("why", "pvc/folder", "--kubeconfig", up.kubeconfig);
  assert.match(why.stdout, /is a folder, not a regular file/);
  const linked = await mooring("why", "pvc/link", "--kubeconfig", up.kubeconfig);
  assert.match(linked.stdout, /is a symbolic link, not a regular file/);
  await kubectl.apply(
    JSON.stringify(pod("default", "web", "exec sleep infinity", { mounts: { "/data": "good" } })),
  );
  await kubectl.run("wait", "--for=condition=Ready", "pod/web", "--timeout=120s");
});

test("a pool that cannot be opened leaves no mount and no device", async (t) => {
  const up = await Up.create({ poolSize: "1Gi" });
  t.after(() => up.discard());
  await up.start();
  assert.equal(await up.end("SIGTERM"), 0);
  const mount = join(up.stateDir, "pools", "default", "mnt");
  await rmdir(mount);
  await writeFile(mount, "");
  await up.start({}, { mayDie: true });
  if (up.alive) await up.end("SIGTERM");
  await nothingRemains(up.stateDir);
  assert.match(up.output, /pools\/default\/mnt is a regular file, not a folder/);
  await rename(mount, `${mount}.away`);
  await up.start();
});
