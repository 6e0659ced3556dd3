import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { type CephCluster, eventually, startCeph, withCeph } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { mooring, mooringWith } from "../support/mooring.ts";
import { Up } from "../support/up.ts";

const run = promisify(execFile);
const withCluster = await withCeph();
const UUID = "8d0ba728-0e17-11eb-a680-ce6eecc894de";
const IMAGE = `csi-vol-${UUID}`;
const XFS = "csi-vol-9d0ba728-0e17-11eb-a680-ce6eecc894de";
/** An image of another pool of Mooring's in the same Ceph pool. */
const OTHERS = "mooring.v-import-elsewhere-1";

interface Plan {
  image: string;
  state: string;
  from?: Record<string, string>;
  obstacles: { why: string; next?: string }[];
  notes: string[];
  steps: Step[];
}

interface Step {
  do: string;
  run?: string[];
  create?: { kind: string; metadata: { name: string } };
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

const CLASS = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ceph}
provisioner: csi.mooring.dev
parameters: {pool: ceph}
allowVolumeExpansion: true
`;

const BOUND = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop, labels: {app: shop}}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: rook-ceph-block
  volumeName: pvc-xfs
  resources: {requests: {storage: 300Mi}}
`;

const COPY = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: copy, namespace: shop}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ceph
  dataSource: {kind: PersistentVolumeClaim, name: data}
  resources: {requests: {storage: 320Mi}}
`;

const POD = (name: string, claim: string): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: shop}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: host, command: [sleep, "3600"], volumeMounts: [{name: data, mountPath: /data}]}
  volumes: [{name: data, persistentVolumeClaim: {claimName: ${claim}}}]
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

describe("mooring import rbd", { skip: withCluster.skip }, () => {
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
    await ceph.admin(
      "rbd",
      "feature",
      "disable",
      `${where}/${IMAGE}`,
      "fast-diff",
      "object-map",
      "exclusive-lock",
    );
    const { code, plans, stderr } = await plan(IMAGE);
    assert.equal(code, 1, stderr);
    const [first = assert.fail("no plan")] = plans;
    assert.deepEqual(
      [first.image, first.state, first.from],
      [IMAGE, "blocked", { persistentVolume: "pvc-theirs", claim: "shop/data", request: "pvc-theirs" }],
    );
    assert.deepEqual(
      first.obstacles.map(({ why }) => why),
      ["it lacks the features exclusive-lock"],
    );
    assert.deepEqual(first.steps, []);
    const before = await everything();
    const real = await mooring("import", "rbd", ...pool(), IMAGE);
    assert.equal(real.code, 1, real.stderr);
    assert.match(real.stdout, /lacks the features exclusive-lock/);
    assert.equal(await everything(), before, "the import itself changes nothing of what is blocked");
    await ceph.admin("rbd", "feature", "enable", ...(first.obstacles[0]?.next ?? "").split(" ").slice(3));
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
      steps.map((step) => step.do),
      ["create-persistent-volume", "rename-image", "create-volume"],
    );
    for (const [index, step] of steps.entries()) {
      const rest = (await plan()).plans[0]?.steps.length;
      assert.equal(rest, steps.length - index, "what is left is the rest of the steps");
      if (step.run !== undefined) await ceph.admin("rbd", ...step.run.slice(1));
      else await kubectl.apply(JSON.stringify(step.create));
    }
    assert.equal((await plan()).plans[0]?.state, "imported");

    const [first] = steps;
    const made = first?.create?.metadata.name ?? assert.fail("none");
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
    assert.match(real.stderr, /no image is named/);
  });

  const pool = () => ["--pool", "ceph", "--kubeconfig", up.kubeconfig];

  describe("carries its steps out", () => {
    const TAKEN = ["create-persistent-volume", "set-sector-size", "rename-image", "create-volume"];
    const UNDONE = ["rename-back", "delete-volume", "remove-sector-size", "restore-policy"];
    const work = (...args: string[]) =>
      mooring("import", "rbd", ...pool(), "--storage-class", "ceph", ...args);

    /** Kills it with `kill -9` behind one step after the other; each goes on with what is left. */
    async function killedBehind(steps: string[], ...args: string[]): Promise<void> {
      for (const step of steps) {
        const variables = { MOORING_FAILPOINT: `cli/import/${step}` };
        const { signal, stderr } = await mooringWith(
          variables,
          ...["import", "rbd", ...pool(), "--storage-class", "ceph", ...args],
        );
        assert.equal(signal, "SIGKILL", `${step}: ${stderr}`);
      }
    }

    test("and goes back, killed behind any of them; then it is as it was", async () => {
      await writeXfs(XFS);
      await theirsOf(XFS, "Delete");
      const before = await stateOf(XFS);
      await killedBehind(["retain", ...TAKEN], XFS);
      const inTheMiddle = await work(XFS, "--dry-run", "--json");
      const [{ state, steps } = assert.fail("no plan")] = JSON.parse(inTheMiddle.stdout) as Plan[];
      assert.deepEqual([state, ...steps.map((step) => step.do)], ["ready", "delete-claim", "create-claim"]);
      await killedBehind([...UNDONE, "delete-persistent-volume"], "--rollback", XFS);
      const { code, stdout } = await work("--rollback", XFS, "--json");
      assert.equal(code, 0);
      assert.equal((JSON.parse(stdout) as Plan[])[0]?.state, "as-before");
      assert.deepEqual(await stateOf(XFS), before);
    });

    test("killed behind any of them; the claim keeps its name, and a pod reads and writes XFS of 512-byte sectors", async () => {
      await kubectl.apply(POD("early", "data"));
      const used = await work(XFS);
      assert.equal(used.code, 1);
      assert.match(used.stdout, /pods use its claim: shop\/early/);
      await kubectl.run("delete", ...SHOP, "pod/early", "--timeout=180s");
      await killedBehind(["retain", ...TAKEN, "delete-claim"], XFS);
      const late = await work("--rollback", XFS);
      assert.equal(late.code, 1, late.stderr);
      assert.match(late.stdout, /from there on an import goes forward only/);
      await killedBehind(["create-claim"], XFS);
      const { code, stdout, stderr } = await work(XFS, "--json");
      assert.equal(code, 0, stderr);
      assert.equal((JSON.parse(stdout) as Plan[])[0]?.state, "imported");
      await kubectl.run(
        "wait",
        ...SHOP,
        "pvc/data",
        "--for=jsonpath={.status.phase}=Bound",
        "--timeout=120s",
      );
      const labels = await kubectl.run("get", ...SHOP, "pvc/data", "-o", "jsonpath={.metadata.labels.app}");
      assert.equal(labels, "shop", "what was said of the claim stays");
      const theirs = await kubectl.run(
        "get",
        "pv",
        "pvc-xfs",
        "-o",
        "jsonpath={.spec.persistentVolumeReclaimPolicy}",
      );
      assert.equal(theirs, "Retain");

      await kubectl.apply(POD("first", "data"));
      await kubectl.run("wait", ...SHOP, "pod/first", "--for=condition=Ready", "--timeout=180s");
      const script = "cat /data/f && echo more > /data/g && sync /data/g && stat -f -c %T /data";
      assert.equal(await inPod("first", script), "from ceph-csi\nxfs\n");
      await kubectl.apply(COPY);
      await kubectl.apply(POD("second", "copy"));
      await kubectl.run("wait", ...SHOP, "pod/second", "--for=condition=Ready", "--timeout=180s");
      assert.equal(await inPod("second", "cat /data/f /data/g"), "from ceph-csi\nmore\n");
      const larger = '{"spec":{"resources":{"requests":{"storage":"512Mi"}}}}';
      await kubectl.run("patch", ...SHOP, "pvc/data", "-p", larger);
      await eventually("the file system to grow", async () => {
        const size = await inPod("first", "stat -f -c '%b %S' /data");
        const [blocks = 0, bytes = 0] = size.trim().split(" ").map(Number);
        return blocks * bytes > 400 * 2 ** 20;
      });
      await kubectl.run("delete", ...SHOP, "pod/first", "pod/second", "pvc/copy", "--timeout=180s");
    });

    test("and stays done, whoever uses the volume", async () => {
      await kubectl.apply(POD("third", "data"));
      await kubectl.run("wait", ...SHOP, "pod/third", "--for=condition=Ready", "--timeout=180s");
      const { code, stdout } = await work(XFS);
      assert.equal(code, 0);
      assert.match(stdout, /: imported\n/);
      assert.match(stdout, /nothing was changed\n$/);
      await kubectl.run("delete", ...SHOP, "pod/third", "--timeout=180s");
    });
  });

  const SHOP = ["--namespace", "shop"];
  const inPod = (name: string, script: string) =>
    kubectl.run("exec", ...SHOP, name, "--", "sh", "-c", script);

  /** As the kernel's rbd has it made: with sectors of 512 bytes. */
  async function writeXfs(image: string): Promise<void> {
    const [file, mountpoint] = [join(folder, "xfs"), join(folder, "mnt")];
    await run("truncate", ["--size", "320M", file]);
    await run("mkfs.xfs", ["-q", "-s", "size=512", file]);
    await mkdir(mountpoint);
    await run("mount", ["-o", "loop", file, mountpoint]);
    await writeFile(join(mountpoint, "f"), "from ceph-csi\n", { flush: true });
    await run("umount", [mountpoint]);
    await ceph.admin("rbd", "import", "--no-progress", file, `${where}/${image}`);
  }

  /** A PersistentVolume of ceph-csi with the claim that is bound to it. */
  async function theirsOf(image: string, reclaim: string): Promise<void> {
    const pools = await ceph.admin("ceph", "osd", "pool", "ls", "detail", "--format", "json");
    const { pool_id } = JSON.parse(pools).find(
      ({ pool_name }: { pool_name: string }) => pool_name === ceph.pool,
    );
    const uuid = image.replace("csi-vol-", "");
    const handle = `0001-0009-rook-ceph-${pool_id.toString(16).padStart(16, "0")}-${uuid}`;
    await kubectl.apply(
      THEIRS(handle, reclaim)
        .replace("NAMESPACE", namespace)
        .replace("pvc-theirs", "pvc-xfs")
        .replace("storage: 64Mi", "storage: 320Mi")
        .replace("fsType: ext4", "fsType: xfs")
        .replace(IMAGE, image),
    );
    await kubectl.apply(CLASS);
    await kubectl.apply(BOUND);
    await kubectl.run("wait", ...SHOP, "pvc/data", "--for=jsonpath={.status.phase}=Bound", "--timeout=120s");
  }

  /** What an import may change, without what depends on its time. */
  async function stateOf(image: string): Promise<unknown> {
    const volume = JSON.parse(await kubectl.run("get", "pv/pvc-xfs", "-o", "json"));
    const claim = JSON.parse(await kubectl.run("get", ...SHOP, "pvc/data", "-o", "json"));
    return {
      images: (await ceph.admin("rbd", "ls", where)).split("\n").sort(),
      metadata: await ceph.admin("rbd", "image-meta", "list", `${where}/${image}`),
      annotations: volume.metadata.annotations,
      spec: volume.spec,
      claim: [claim.metadata.uid, claim.spec],
      made: await kubectl.run("get", "pv,volumes.storage.mooring.dev", "-o", "name"),
    };
  }

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
