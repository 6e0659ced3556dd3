import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { kubeletFolder } from "./kubelet-folder.ts";

test("the sockets are where a kubelet reads them; without a kubelet's folder nothing is made", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-kubelet-"));
  t.after(() => rm(folder, { recursive: true }));
  const sockets = await kubeletFolder(folder, "csi.example.com");
  assert.deepEqual(sockets, {
    driverSocket: join(folder, "plugins/csi.example.com/csi.sock"),
    registrationSocket: join(folder, "plugins_registry/csi.example.com-reg.sock"),
  });
  assert.ok((await stat(join(folder, "plugins_registry"))).isDirectory());
  await assert.rejects(kubeletFolder(join(folder, "missing"), "csi.example.com"), {
    code: "FAILED_PRECONDITION",
    message: /missing is not the folder of a kubelet/,
    hint: /--kubelet-dir/,
  });
  const long = join(folder, "a".repeat(90));
  await mkdir(long);
  await assert.rejects(kubeletFolder(long, "csi.example.com"), /too long for a socket/);
});
