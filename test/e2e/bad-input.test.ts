import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { world } from "../support/world.ts";

/** All programs of this machine but one. */
const programs = await mkdtemp(join(tmpdir(), "mooring-programs-"));
for (const folder of ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]) {
  for (const name of await readdir(folder).catch(() => [])) {
    if (name === "mkfs.ext4") continue;
    await symlink(join(folder, name), join(programs, name)).catch(() => {});
  }
}

const { up, kubectl, shows } = await world({ env: { PATH: programs } });
// After the server, which needs them to clean up.
after(() => rm(programs, { recursive: true, force: true }));
const why = async (what: string) => (await mooring("why", what, "--kubeconfig", up.kubeconfig)).stdout;
const add = (...objects: object[]) =>
  kubectl.apply(JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));

test("a missing mkfs is reported on the pod, with its package; the pod runs once it is there", async () => {
  await add(
    claim("default", "plain"),
    pod("default", "plain", "exec sleep 100000", { mounts: { "/data": "plain" } }),
  );
  const output = /mkfs\.ext4 is not installed on this machine \(install it: apt-get install e2fsprogs\)/;
  await shows(
    ["events", "--field-selector", "involvedObject.name=plain,reason=FailedMount"],
    "{.items[*].message}",
    output,
  );
  assert.match(await why("pod/plain"), output);
  await symlink("/sbin/mkfs.ext4", join(programs, "mkfs.ext4"));
  await shows(["pod", "plain"], "{.status.phase}", "Running");
});

test("a truncated image is repaired only when an operator accepts the loss; the pod that needs it reports that", async () => {
  await add(claim("default", "short"));
  await shows(["pvc", "short"], "{.status.phase}", "Bound");
  const volume = await kubectl.run("get", "pvc", "short", "-o", "jsonpath={.spec.volumeName}");
  const handle = await kubectl.run("get", "pv", volume, "-o", "jsonpath={.spec.csi.volumeHandle}");
  const image = join(up.stateDir, "pools/default/mnt/images", `${handle}.img`);
  await truncate(image, 32 << 20);
  await add(pod("default", "short", "exec sleep 100000", { mounts: { "/data": "short" } }));
  const output = /the image of volume v-\S+ has 33554432 bytes, but had 67108864/;
  const volumes = "volumes.storage.mooring.dev";
  await shows([volumes, handle], "{.status.robustness} {.status.error.message}", output);
  assert.match(await why("pod/short"), output);
  const faultedAt = await kubectl.run("get", volumes, handle, "-o", "jsonpath={.status.salvage.faultedAt}");
  const accepted = JSON.stringify({ spec: { acceptDataLoss: faultedAt } });
  await kubectl.run("patch", volumes, handle, "--type", "merge", "-p", accepted);
  await shows(["pod", "short"], "{.status.phase}", "Running");
});

for (const [what, args, code, message] of [
  [
    "a state folder that cannot be made",
    ["--state-dir", "/dev/null/state"],
    2,
    /error: .*\/dev\/null\/state/,
  ],
  [
    "a state folder where there are none",
    ["--state-dir", "/proc/none"],
    2,
    /error: the folder \/proc\/none cannot be made/,
  ],
  [
    "a ready file where there can be none",
    ["--ready-file", "/proc/none/ready"],
    2,
    /error: --ready-file \/proc\/none\/ready cannot be written: the folder \/proc\/none/,
  ],
  [
    "an address that somebody has",
    ["--listen", "127.0.0.1:PORT"],
    3,
    /error: .*address already in use 127\.0\.0\.1/,
  ],
] as const) {
  test(`${what} is reported in one message that names it, and what to do`, async () => {
    const { port } = new URL(
      await kubectl.run("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"),
    );
    const folder = await mkdtemp(join(tmpdir(), "mooring-bad-"));
    try {
      const given = args.map((arg) => arg.replace("PORT", port));
      const output = await mooring("up", "--state-dir", folder, "--listen", "127.0.0.1:0", ...given);
      assert.equal(output.code, code, output.stderr);
      assert.match(output.stderr, message);
      assert.match(output.stderr, /^next: /m);
      assert.doesNotMatch(output.stderr, /^\s+at /m);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}

test("a kubeconfig of another authority is reported as that, and not as a server that has to be started", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-bad-"));
  try {
    const other = join(folder, "kubeconfig");
    const text = await readFile(up.kubeconfig, "utf8");
    await writeFile(other, text.replace(/^ *certificate-authority-data: .*\n/m, ""));
    const { code, stderr } = await mooring("volume", "list", "--kubeconfig", other);
    assert.equal(code, 4, stderr);
    assert.match(stderr, /is not safe.*certificate[\s\S]*next: the kubeconfig does not fit this server/);
    assert.doesNotMatch(stderr, /does not respond/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
