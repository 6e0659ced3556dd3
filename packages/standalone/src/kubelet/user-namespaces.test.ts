import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import type { Pod } from "@mooring/store";
import { smallRoot } from "../images/testing/small-image.ts";
import {
  claim,
  eventually,
  logOf,
  logShows,
  PersistentVolumeClaims,
  Pods,
  phase,
  pod,
} from "./testing/test-cluster.ts";
import { volumeCluster } from "./testing/volume-cluster.ts";

const { cluster, folder, remove } = await volumeCluster();
const { store } = cluster;
const root = join(folder, "root");
/** It has every mount point of ours but runc's own: those its root user makes. */
before(() =>
  smallRoot(root, {
    ...{ "etc/mine": "root's\n", "etc/hosts": "", "etc/resolv.conf": "" },
    ...{ "data/.here": "", "scratch/.here": "", "memory/.here": "" },
  }),
);

type Spec = NonNullable<Pod["spec"]>;
/** Below are ids that may be somebody's. */
const LEAST_ID = 1024 * 65_536;

const SCRIPT = `
id -u; cat /proc/self/uid_map
for each in /data /scratch /memory; do echo x >$each/file; ls -ln $each/file; done
echo ready; while :; do sleep 0.2; done
`;

function mapped(image: string, more: Partial<Spec> = {}): Partial<Spec> {
  const mounts = ["data", "scratch", "memory"].map((name) => ({ name, mountPath: `/${name}` }));
  return {
    hostUsers: false,
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: "mapped" } },
      { name: "scratch", emptyDir: {} },
      { name: "memory", emptyDir: { medium: "Memory" } },
    ],
    containers: [
      {
        ...{ name: "main", image, command: ["sh", "-c", SCRIPT], volumeMounts: mounts },
        readinessProbe: { exec: { command: ["sh", "-c", "test $(id -u) = 0"] }, periodSeconds: 1 },
      },
    ],
    ...more,
  };
}

/** The first id on the machine that its log reports; its files belong to root inside. */
async function firstId(name: string): Promise<number> {
  await eventually(store, Pods, name, (object) =>
    (object?.status?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True"),
  );
  await logShows(cluster, name, /ready/);
  const log = await logOf(cluster, name);
  const [, first = ""] = /^0\n\s*0\s+(\d+)\s+65536$/m.exec(log) ?? [];
  assert.ok(Number(first) >= LEAST_ID, log);
  assert.equal(log.match(/^-rw\S+ +1 0 +0 .* \/(data|scratch|memory)\/file$/gm)?.length, 3, log);
  return Number(first);
}

test("a pod with hostUsers: false is root inside and nobody outside; its volumes' files are root's in both", async () => {
  await store.create(PersistentVolumeClaims, claim("mapped"));
  await store.create(Pods, pod("mapped", "", mapped("host")));
  const first = await firstId("mapped");
  const uid = (await store.get(Pods, { namespace: "default", name: "mapped" })).metadata.uid ?? "";
  const written = join(folder, "kubelet/pods", uid, "volumes/kubernetes.io~empty-dir/scratch/file");
  assert.equal((await stat(written)).uid, 0, "on disk it is root's: another pod may use the volume");
  const outside: string[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const map = await readFile(`/proc/${pid}/uid_map`, "utf8").catch(() => "");
    if (Number(/^\s*0\s+(\d+)/.exec(map)?.[1]) !== first) continue;
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    // A probe's runc is root until it has become a program of the container.
    if (/^Name:\s+(sh|sleep)$/m.test(status)) outside.push(/^Uid:\s+(\d+)/m.exec(status)?.[1] ?? "");
  }
  assert.ok(outside.length > 0 && outside.every((each) => each === String(first)), outside.join());
  // Found again after a restart, with the same users, and taken down with it.
  await cluster.stopKubelet();
  await cluster.startKubelet();
  await remove("mapped");
});

test("in an image the files are root's of the pod; another pod has other users", async () => {
  const image = `dir:${root}`;
  const [{ name = "", ...main } = { name: "main", image: "" }] = mapped(image).containers ?? [];
  const script = `ls -ln /etc/mine; echo x >/new; ls -ln /new; cat /etc/mine; ${SCRIPT}`;
  await store.create(
    Pods,
    pod("image", "", mapped(image, { containers: [{ ...main, name, command: ["sh", "-c", script] }] })),
  );
  await store.create(Pods, pod("other", "cat /proc/self/uid_map", { hostUsers: false }));
  const first = await firstId("image");
  assert.equal((await logOf(cluster, "image")).match(/^-rw\S+ +1 0 +0 .* \/(new|etc\/mine)$/gm)?.length, 2);
  await eventually(store, Pods, "other", phase("Succeeded"));
  assert.notEqual(Number(/^\s*0\s+(\d+)/.exec(await logOf(cluster, "other"))?.[1]), first);
  for (const each of ["image", "other"]) await remove(each);
});

test("a volume whose files cannot be shown to other users is refused with its path, and so are too large ids", async () => {
  const volumes = [{ name: "v", hostPath: { path: "/proc" } }];
  const volumeMounts = [{ name: "v", mountPath: "/mnt" }];
  const container = { name: "main", image: "host", command: ["true"], volumeMounts };
  await store.create(Pods, pod("proc", "", { hostUsers: false, volumes, containers: [container] }));
  await store.create(
    Pods,
    pod("large", "true", { hostUsers: false, securityContext: { runAsUser: 70_000 } }),
  );
  for (const [name, path] of [
    ["proc", /spec\.containers\[0\]\.volumeMounts\[0\]: its file system cannot show files/],
    ["large", /spec\.hostUsers: user or group 70000 /],
  ] as const) {
    const seen = await eventually(store, Pods, name, (object) => {
      const waiting = object?.status?.containerStatuses?.[0]?.state?.waiting;
      return waiting?.reason === "CreateContainerConfigError";
    });
    assert.match(seen?.status?.containerStatuses?.[0]?.state?.waiting?.message ?? "", path);
    await remove(name);
  }
});
