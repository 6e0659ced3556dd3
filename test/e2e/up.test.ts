import assert from "node:assert/strict";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually, everyday, sample, thorough } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { leaks } from "../support/leaks.ts";
import { mooring } from "../support/mooring.ts";
import { nothingRemains } from "../support/remains.ts";
import { Up } from "../support/up.ts";

const up = await Up.create();
after(() => up.dispose());

test("up makes a pool, the default classes and a private kubeconfig", everyday(), async () => {
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  assert.match(
    await kubectl.run("get", "sc"),
    /mooring \(default\)\s+csi\.mooring\.dev\s+Delete\s+Immediate\s+true/,
  );
  await kubectl.run("get", "volumesnapshotclass", "mooring");
  await kubectl.run("get", "volumegroupsnapshotclass", "mooring");
  assert.equal(await kubectl.run("get", "pool", "default", "-o", "jsonpath={.status.ready}"), "true");
  assert.equal((await stat(up.kubeconfig)).mode & 0o777, 0o600);
  assert.equal((await stat(up.stateDir)).mode & 0o777, 0o700);
});

test(
  "a second up on the same folder is refused with the first one's pid, and leaves its ready file alone",
  everyday(),
  async () => {
    const readyFile = join(up.stateDir, "ready");
    const before = await readFile(readyFile, "utf8");
    const args = ["up", "--state-dir", up.stateDir, "--listen", "127.0.0.1:0", "--ready-file", readyFile];
    const { code, stderr } = await mooring(...args);
    assert.equal(code, 3);
    assert.match(stderr, new RegExp(`\\b${up.pid}\\b`));
    assert.match(stderr, /^next: /m);
    assert.equal((await mooring(...args, "--node-grace", "1s")).code, 2);
    assert.equal(await readFile(readyFile, "utf8"), before);
  },
);

test(
  "why follows a pod down to its ticket, and ends with 1 when the object is not there",
  everyday(),
  async () => {
    const kubectl = new Kubectl(up.kubeconfig);
    await kubectl.run(
      "apply",
      "-f",
      fileURLToPath(new URL("../../examples/standalone/notes.yaml", import.meta.url)),
    );
    await kubectl.run("wait", "--for=condition=Ready", "pod/notes", "--timeout=120s");
    const output = await mooring("why", "pod/notes", "--kubeconfig", up.kubeconfig);
    assert.equal(output.code, 0, output.stdout);
    assert.match(
      output.stdout,
      /Pod default\/notes: Running[\s\S]*PersistentVolumeClaim default\/notes: bound[\s\S]*ticket csi-.*satisfied/,
    );
    const missing = await mooring("why", "pvc/nothing", "--kubeconfig", up.kubeconfig, "--json");
    assert.equal(missing.code, 1);
    assert.equal(JSON.parse(missing.stdout).message, "does not exist");
    const nonsense = await mooring("why", "planet/earth", "--kubeconfig", up.kubeconfig);
    assert.equal(nonsense.code, 2);
  },
);

test("why names a class that does not exist as the cause", everyday(), async () => {
  const kubectl = new Kubectl(up.kubeconfig);
  await kubectl.apply(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: lost}
spec: {accessModes: [ReadWriteOnce], storageClassName: nonsense, resources: {requests: {storage: 1Mi}}}`);
  const output = await mooring("why", "pvc/lost", "--kubeconfig", up.kubeconfig);
  assert.equal(output.code, 1);
  assert.match(output.stdout, /StorageClass nonsense does not exist/);
  assert.match(output.stdout, /^next: create StorageClass nonsense/m);
  await kubectl.run("delete", "pvc", "lost");
});

test("doctor finds nothing wrong here, and a leak that is made for it", everyday(), async () => {
  const before = JSON.parse((await mooring("doctor", "--state-dir", up.stateDir, "--json")).stdout);
  assert.deepEqual(
    before.filter((entry: { state: string }) => entry.state === "fail"),
    [],
  );
  assert.deepEqual(await leaks(up), []);
  const { writeFile, rm } = await import("node:fs/promises");
  const stray = join(up.stateDir, "pools/default/mnt/images/v-00000000-0000-4000-8000-000000000000.img");
  await writeFile(stray, "data that no record explains");
  try {
    const found = await mooring("doctor", "--state-dir", up.stateDir);
    assert.equal(found.code, 1);
    assert.match(found.stdout, /leak: image-without-record\s+fail\s+.*v-00000000/);
  } finally {
    await rm(stray);
  }
});

test(
  "SIGTERM ends it with 0 and leaves nothing in use, heard or not; without a server, commands say so",
  everyday(),
  async () => {
    up.hangUp();
    assert.equal(await up.end("SIGTERM"), 0);
    await nothingRemains(up.stateDir);
    const { code, stderr } = await mooring("why", "pod/notes", "--kubeconfig", up.kubeconfig);
    assert.equal(code, 4);
    assert.match(stderr, /mooring up/);
  },
);

test(
  "a pool that cannot be made ends up at once; a shared one is named where it prints that it is up",
  thorough(),
  async (t) => {
    const other = await Up.create({ args: ["--shared-pool", "fast=/dev/null/none"] });
    t.after(() => other.dispose());
    await writeFile(join(other.stateDir, "pools"), "");
    const where = ["--state-dir", other.stateDir, "--listen", "127.0.0.1:0", "--node-name", "node-a"];
    const { code, stderr } = await mooring("up", ...where);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /^error: \S+\/pools is a regular file, not a folder\nnext: move it away/m);
    await rm(join(other.stateDir, "pools"));
    await other.start();
    const says = async () => /^mooring is up, .*$/m.exec(other.output)?.[0];
    assert.equal(await eventually("it to print that", says), "mooring is up, without pool fast");
    assert.match(other.output, /^warning: pool fast is not ready: .*\/dev\/null.*\nnext: /m);
    assert.match(
      other.output,
      /^warning: shared pool fast: .* several agents of one kernel.*\nnext: .*--rbd-pool$/m,
    );
  },
);

test("one pool that is lost keeps up from nothing else", thorough(), async (t) => {
  const other = await Up.create();
  t.after(() => other.dispose());
  await other.start();
  const path = join(other.stateDir, "pools", "second");
  const second = {
    ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "Pool", metadata: { name: "second" } },
    spec: { type: "xfs", nodeID: "node-a", path, size: 2 ** 30 },
  };
  await new Kubectl(other.kubeconfig).apply(JSON.stringify(second));
  await new Kubectl(other.kubeconfig).run(
    "wait",
    "--for=jsonpath={.status.ready}=true",
    "pool/second",
    "--timeout=60s",
  );
  assert.equal(await other.end("SIGTERM"), 0);
  await rm(join(path, "pool.img"));
  await other.start();
  const says = async () => /^mooring is up, .*$/m.exec(other.output)?.[0];
  assert.equal(await eventually("it to print that", says), "mooring is up, without pool second");
  assert.match(other.output, /^warning: pool second is not ready: .*pool\.img is missing/m);
  const kubectl = new Kubectl(other.kubeconfig);
  assert.equal(await kubectl.run("get", "pool", "default", "-o", "jsonpath={.status.ready}"), "true");
  const { stdout } = await mooring("why", "pool/second", "--kubeconfig", other.kubeconfig);
  assert.match(stdout, /is missing[\s\S]*put the file back from a copy/);
  const doctor = await mooring("doctor", "--state-dir", other.stateDir);
  assert.match(doctor.stdout, /Pool second\W.*is missing.*put the file back from a copy/);
  assert.match(doctor.stdout, /Pool default\W.* free/);
});

for (const [args, message] of sample(
  [
    [["--pool-size", "many"], /--pool-size.*not a size/],
    [["--pool-size", "20"], /--pool-size.*at least 300Mi; write it like 20Gi/],
    [["--pool-size", "0"], /--pool-size.*at least 300Mi/],
    [["--pool-size=-5Gi"], /--pool-size.*at least 300Mi/],
    [["--listen", "here"], /not an address/],
    [["--pool", "floppy"], /xfs, btrfs, directory/],
  ] as const,
  { everyday: 1 },
)) {
  test(`up ${args.join(" ")} is refused before anything is made`, async () => {
    const { code, stderr } = await mooring("up", "--state-dir", join(up.stateDir, "never"), ...args);
    assert.equal(code, 2);
    assert.match(stderr, message);
    await assert.rejects(stat(join(up.stateDir, "never")), { code: "ENOENT" });
  });
}
