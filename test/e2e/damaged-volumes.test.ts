import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, open, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { eventually } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { Up } from "../support/up.ts";

const run = promisify(execFile);
const up = await Up.create({ poolSize: "1Gi" });
after(() => up.dispose());

const ready = (kubectl: Kubectl) => kubectl.run("wait", "--for=condition=Ready", "pod/web", "--timeout=120s");

/** Starts, with a claim that a pod has written to; returns the id of its volume. */
async function volumeInUse(): Promise<{ id: string; kubectl: Kubectl }> {
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  await kubectl.apply(JSON.stringify(claim("default", "data")));
  const web = pod("default", "web", "echo kept >> /data/word; trap 'exit 143' TERM; sleep infinity & wait", {
    mounts: { "/data": "data" },
  });
  await kubectl.apply(JSON.stringify({ ...web, spec: { ...web.spec, restartPolicy: "Always" } }));
  await ready(kubectl);
  const volume = await kubectl.run("get", "pvc", "data", "-o", "jsonpath={.spec.volumeName}");
  return { id: await kubectl.run("get", "pv", volume, "-o", "jsonpath={.spec.csi.volumeHandle}"), kubectl };
}

/** While nothing runs: overwrites the superblock of the volume's file system. */
async function zeroImage(id: string): Promise<void> {
  const mountPoint = await mkdtemp(join(tmpdir(), "mooring-pool-"));
  await run("mount", ["-o", "loop", join(up.stateDir, "pools/default/pool.img"), mountPoint]);
  try {
    const image = await open(join(mountPoint, "images", `${id}.img`), "r+");
    await image.write(Buffer.alloc(4096), 0, 4096, 0).finally(() => image.close());
  } finally {
    await run("umount", [mountPoint]);
    await rmdir(mountPoint);
  }
}

test("a torn record of a volume keeps neither its pod from starting nor a stop from ending, and a file system that is damaged is the cause", async () => {
  const { id, kubectl } = await volumeInUse();
  const record = join(up.stateDir, "node-volumes", `${id}.json`);
  // While it is mounted: the stop undoes what the kernel shows.
  await writeFile(record, "{");
  assert.equal(await up.end("SIGTERM"), 0);
  assert.doesNotMatch(up.output, /stay for the next start/);
  // While it is not: the next start begins it anew, and names the file.
  await mkdir(join(up.stateDir, "node-volumes"), { recursive: true });
  await writeFile(record, "{");
  const from = up.output.length;
  await up.start();
  await ready(kubectl);
  assert.ok(up.output.slice(from).includes(record), up.output.slice(from));
  assert.equal(await kubectl.run("exec", "web", "--", "cat", "/data/word"), "kept\nkept\n");
  assert.equal(await up.end("SIGTERM"), 0);

  await zeroImage(id);
  await up.start();
  await eventually("the event FailedMount", async () =>
    /FailedMount/.test(await kubectl.run("get", "events", "-o", "jsonpath={.items[*].reason}")),
  );
  const why = await mooring("why", "pod/web", "--kubeconfig", up.kubeconfig);
  assert.match(why.stdout, /FAILED .*FailedMount: .*pvc-/, why.stdout);
  assert.match(why.stdout, /next: put right what it says/);
  assert.doesNotMatch(why.stdout, /143/);
  assert.equal(why.code, 1);
  for (const command of ["status", "doctor"]) {
    const { code, stdout } = await mooring(command, "--kubeconfig", up.kubeconfig);
    assert.match(stdout, /Pod default\/web .*FailedMount/, stdout);
    assert.equal(code, 1, stdout);
  }
});
