import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { type CephCluster, startCeph, withCeph } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { mooring } from "../support/mooring.ts";
import { Up } from "../support/up.ts";

const run = promisify(execFile);
const withCluster = await withCeph();
const UUID = "8d0ba728-0e17-11eb-a680-ce6eecc894de";
const IMAGE = `csi-vol-${UUID}`;
/** An image of another pool of Mooring's in the same Ceph pool. */
const OTHERS = "mooring.v-import-elsewhere-1";

interface Plan {
  image: string;
  state: string;
  from?: Record<string, string>;
  obstacles: { why: string; next?: string }[];
  notes: string[];
  steps: ({ run: string } | { create: { kind: string; metadata: { name: string } } })[];
}

/** What ceph-csi leaves in a Kubernetes cluster of a claim that nobody uses. */
const THEIRS = (handle: string, reclaim: string): string => `
apiVersion: v1
kind: PersistentVolume
metadata: {name: pvc-theirs}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 64Mi}
  claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: shop, name: data}
  csi:
    driver: rook-ceph.rbd.csi.ceph.com
    fsType: ext4
    volumeHandle: ${handle}
    volumeAttributes: {imageName: ${IMAGE}, pool: images, radosNamespace: NAMESPACE}
  persistentVolumeReclaimPolicy: ${reclaim}
  storageClassName: rook-ceph-block
  volumeMode: Filesystem
`;

const USE = (persistentVolume: string): string => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: imported}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  volumeName: ${persistentVolume}
  resources: {requests: {storage: 64Mi}}
---
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: host, command: [sleep, "3600"], volumeMounts: [{name: data, mountPath: /data}]}
  volumes: [{name: data, persistentVolumeClaim: {claimName: imported}}]
`;

describe("mooring import rbd --dry-run", { skip: withCluster.skip }, () => {
  const undo: (() => Promise<unknown>)[] = [];
  let ceph: CephCluster;
  let up: Up;
  let kubectl: Kubectl;
  let folder: string;
  let namespace: string;
  let where: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mooring-import-"));
    undo.push(() => rm(folder, { recursive: true }));
    ceph = await startCeph((step) => undo.push(step));
    namespace = await ceph.namespace();
    where = `${ceph.pool}/${namespace}`;
    const { conf, user, keyring, pool } = ceph;
    const settings = `conf:${conf},user:${user},pool:${pool},namespace:${namespace},keyring:${keyring}`;
    up = await Up.create({ args: ["--rbd-pool", `ceph=${settings}`] });
    undo.push(() => up.disposeWhole());
    await up.start();
    kubectl = new Kubectl(up.kubeconfig);
    await writeImage();
    await kubectl.run("create", "namespace", "shop");
  });
  after(async () => {
    for (const step of undo.reverse()) await step();
  });

  /** A file system with a file, in an image as ceph-csi names it, with its journal. */
  async function writeImage(): Promise<void> {
    const [tree, file] = [join(folder, "tree"), join(folder, "image")];
    await mkdir(tree);
    await writeFile(join(tree, "f"), "from elsewhere\n");
    await run("truncate", ["--size", "64M", file]);
    await run("mkfs.ext4", ["-q", "-b", "4096", "-d", tree, file]);
    await ceph.admin("rbd", "import", "--no-progress", file, `${where}/${IMAGE}`);
    await ceph.admin("rbd", "create", "--size", "8M", `${where}/${OTHERS}`);
    const omap = async (object: string, key: string, value: string) =>
      ceph.admin("rados", "-p", ceph.pool, "-N", namespace, "setomapval", object, key, value);
    await omap(`csi.volume.${UUID}`, "csi.volname", "pvc-theirs");
    await omap(`csi.volume.${UUID}`, "csi.imagename", IMAGE);
    await omap("csi.volumes.default", "csi.volume.pvc-theirs", UUID);
  }

  /** As a Ceph user who may only read. */
  async function plan(...more: string[]): Promise<{ code: number; plans: Plan[]; stderr: string }> {
    const keyring = join(folder, "reader.keyring");
    const read = ["mon", "profile rbd-read-only", "osd", "profile rbd-read-only"];
    await ceph.admin("ceph", "auth", "get-or-create", "client.reader", ...read, "-o", keyring);
    await chmod(keyring, 0o600);
    const { code, stdout, stderr } = await mooring(
      ...["import", "rbd", "--dry-run", "--pool", "ceph", "--kubeconfig", up.kubeconfig],
      ...["--user", "reader", "--keyring", keyring, "--json", ...more],
    );
    return { code, plans: stdout === "" ? [] : (JSON.parse(stdout) as Plan[]), stderr };
  }

  const theirs = async (reclaim: string): Promise<void> => {
    const pools = await ceph.admin("ceph", "osd", "pool", "ls", "detail", "--format", "json");
    const { pool_id } = JSON.parse(pools).find(
      ({ pool_name }: { pool_name: string }) => pool_name === ceph.pool,
    );
    const handle = `0001-0009-rook-ceph-${pool_id.toString(16).padStart(16, "0")}-${UUID}`;
    await kubectl.apply(THEIRS(handle, reclaim).replace("NAMESPACE", namespace));
  };

  test("says of a volume of ceph-csi what is in the way, by a user who may only read", async () => {
    await theirs("Delete");
    const { code, plans, stderr } = await plan(IMAGE);
    assert.equal(code, 1, stderr);
    const [first = assert.fail("no plan")] = plans;
    assert.deepEqual(
      [first.image, first.state, first.from],
      [IMAGE, "blocked", { persistentVolume: "pvc-theirs", claim: "shop/data", request: "pvc-theirs" }],
    );
    assert.deepEqual(
      first.obstacles.map(({ why }) => why),
      ["ceph-csi deletes it with its PersistentVolume pvc-theirs"],
    );
    assert.match(first.obstacles[0]?.next ?? "", /^kubectl patch pv pvc-theirs/);
    assert.deepEqual(first.steps, []);
  });

  test("lists steps that, when they are done by hand, give a pod the data; deleting its objects keeps them", async () => {
    await kubectl.run(
      "patch",
      "pv",
      "pvc-theirs",
      "-p",
      '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}',
    );
    const before = await everything();
    const { code, plans, stderr } = await plan();
    assert.equal(code, 0, stderr);
    assert.equal(await everything(), before, "a dry run changes nothing");
    const [{ state, steps } = assert.fail("no plan"), ...more] = plans;
    assert.deepEqual(more, [], "what is Mooring's already is not listed");
    assert.equal(state, "ready", JSON.stringify(plans));
    assert.deepEqual(
      steps.map((step) => ("run" in step ? step.run.split(" ").slice(0, 3).join(" ") : step.create.kind)),
      ["PersistentVolume", `rbd rename ${where}/${IMAGE}`, "Volume"],
    );
    for (const [index, step] of steps.entries()) {
      const rest = (await plan()).plans[0]?.steps.length;
      assert.equal(rest, steps.length - index, "what is left is the rest of the steps");
      if ("run" in step) await ceph.admin("rbd", ...step.run.split(" ").slice(1));
      else await kubectl.apply(JSON.stringify(step.create));
    }
    assert.equal((await plan()).plans[0]?.state, "imported");

    const [first] = steps;
    const made = first !== undefined && "create" in first ? first.create.metadata.name : assert.fail("none");
    await kubectl.apply(USE(made));
    await kubectl.run("wait", "pod/reader", "--for=condition=Ready", "--timeout=120s");
    assert.equal(await kubectl.run("exec", "reader", "--", "cat", "/data/f"), "from elsewhere\n");
    await kubectl.run("delete", "pod", "reader", "--timeout=120s");
    await kubectl.run("delete", "pvc", "imported", "--timeout=120s");
    await kubectl.run("delete", "pv", made, "pvc-theirs", "--timeout=120s");
    const [, id] = /^mooring\.(v-import-ceph-[0-9a-f]+)$/m.exec(await ceph.admin("rbd", "ls", where)) ?? [];
    assert.ok(id !== undefined, "the image is there without the PersistentVolume");
    await ceph.admin("rbd", "rename", `${where}/mooring.${id}`, `${where}/${IMAGE}`);
    await kubectl.run("delete", "volumes.storage.mooring.dev", id, "--timeout=120s");
    const left = (await ceph.admin("rbd", "ls", where)).trim().split("\n").sort();
    assert.deepEqual(left, [IMAGE, OTHERS], "the way back keeps it as well");
  });

  test("takes no image that is not there, and no pool of another type", async () => {
    const none = await plan("none");
    assert.equal(none.code, 1, none.stderr);
    assert.match(none.stderr, /there is no image none in images/);
    const local = await mooring(
      ...["import", "rbd", "--dry-run", "--pool", "default", "--kubeconfig", up.kubeconfig],
    );
    assert.equal(local.code, 2, local.stderr);
    const real = await mooring("import", "rbd", "--pool", "ceph");
    assert.equal(real.code, 2);
    assert.match(real.stderr, /--dry-run/);
  });

  /** Images, journal and objects, as texts. */
  async function everything(): Promise<string> {
    const journal = ["-p", ceph.pool, "-N", namespace, "listomapvals"];
    const texts = [
      ceph.admin("rbd", "ls", "--long", where),
      ceph.admin("rados", ...journal, "csi.volumes.default"),
      ceph.admin("rados", ...journal, `csi.volume.${UUID}`),
      ceph.admin("rbd", "info", `${where}/${IMAGE}`),
      kubectl.run("get", "pv,volumes.storage.mooring.dev", "--output", "json"),
    ];
    return (await Promise.all(texts)).join("\n");
  }
});
