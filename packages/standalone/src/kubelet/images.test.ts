import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Pod, Secrets } from "@mooring/store";
import { addImage, smallRoot } from "../images/testing/small-image.ts";
import { type SmallRegistry, smallRegistry } from "../images/testing/small-registry.ts";
import { eventually, logOf, logShows, Pods, phase, pod } from "./testing/test-cluster.ts";
import { volumeCluster } from "./testing/volume-cluster.ts";

const { cluster, folder, remove } = await volumeCluster();
const { store } = cluster;
const root = join(folder, "root");
const layout = join(folder, "layout");
const victim = join(folder, "victim");
let registry: SmallRegistry;

before(async () => {
  await smallRoot(root, {
    "etc/passwd": "root:x:0:0::/root:/bin/sh\napp:x:1000:1001::/home/app:/bin/sh\n",
    "etc/group": "app:x:1001:\nteam:x:2000:app\n",
  });
  await mkdir(join(root, "tmp"), { mode: 0o1777 });
  await symlink("/etc/hostname", join(root, "escape"));
  await mkdir(victim);
  await symlink(victim, join(root, "link"));
  await symlink(`../../../../../..${victim}/deep`, join(root, "up"));
  await addImage(layout, "v1", root, {
    entrypoint: ["/bin/sh", "-c"],
    cmd: "echo cmd; echo $WHO of $PLACE; pwd; id; cat /sys/fs/cgroup/x 2>/dev/null; echo done",
    env: ["WHO=image", "PLACE=image"],
    workingdir: "/made/here",
    user: "app",
  });
  await addImage(layout, "net", root, { cmd: ["echo", "from afar"] });
  registry = await smallRegistry(layout);
});
after(() => registry.close());

type Container = NonNullable<Pod["spec"]>["containers"][number];

async function create(
  name: string,
  container: Partial<Container>,
  spec: Partial<Pod["spec"]> = {},
): Promise<void> {
  await store.create(Pods, pod(name, "", { containers: [{ name: "main", ...container }], ...spec }));
}

/** What the container has written once it has ended well. */
async function output(name: string): Promise<string> {
  await eventually(store, Pods, name, phase("Succeeded"));
  const log = await logOf(cluster, name);
  await remove(name);
  return log;
}

/** The reason for which it waits, once it is the wanted one. */
async function waits(name: string, reason: string): Promise<string> {
  const state = (object: Pod | undefined) => object?.status?.containerStatuses?.[0]?.state?.waiting;
  const seen = await eventually(store, Pods, name, (object) => state(object)?.reason === reason);
  await remove(name);
  return state(seen)?.message ?? "";
}

const writer = (mark: string) => `ls /mark* 2>/dev/null; touch /mark-${mark} && echo wrote; ls /mark*`;

test("containers of a folder write into a layer of their own, which ends with them", async () => {
  const image = `dir:${root}`;
  await create("first", { image, command: ["sh", "-c", writer("1")] });
  assert.equal(await output("first"), "wrote\n/mark-1\n");
  await create("second", { image, command: ["sh", "-c", writer("2")] });
  assert.equal(await output("second"), "wrote\n/mark-2\n");
  await create(
    "fixed",
    {
      image,
      command: [
        "sh",
        "-c",
        "touch /mark 2>&1; echo >/escape; touch /data/x && echo volume; cat /etc/hosts | wc -l",
      ],
      securityContext: { readOnlyRootFilesystem: true },
      volumeMounts: [{ name: "data", mountPath: "/data" }],
    },
    { volumes: [{ name: "data", emptyDir: {} }] },
  );
  assert.match(await output("fixed"), /Read-only file system.*volume\n[1-9]/s);
  assert.deepEqual((await readdir(root)).sort(), ["bin", "escape", "etc", "link", "tmp", "up"]);
});

test("links in an image lead no mount of a pod, and no write of its program, out of it", async () => {
  const names = ["/link", "/up"];
  await create(
    "links",
    {
      image: `dir:${root}`,
      command: ["sh", "-c", `echo in >/link/file; echo in >/up/file; cat ${victim}/file ${victim}/deep/file`],
      volumeMounts: names.map((mountPath, index) => ({ name: `v${index}`, mountPath })),
    },
    { volumes: names.map((_, index) => ({ name: `v${index}`, emptyDir: {} })) },
  );
  assert.equal(await output("links"), "in\nin\n");
  assert.deepEqual(await readdir(victim), []);
});

test("a pod's fields count before those of its image, as in Kubernetes", async () => {
  const image = `oci:${layout}:v1`;
  await create("plain", { image });
  const plain = await output("plain");
  assert.match(plain, /^cmd\nimage of image\n\/made\/here\nuid=1000\(app\) gid=1001\(app\) groups=.*2000/);
  await create("asked", {
    image,
    args: ["echo args $(WHO) $PLACE; pwd; id"],
    env: [{ name: "WHO", value: "pod" }],
    workingDir: "/tmp",
    securityContext: { runAsUser: 4242, runAsGroup: 4343 },
  });
  assert.match(await output("asked"), /^args pod image\n\/tmp\nuid=4242 gid=4343/);
  await create("command", { image, command: ["echo", "alone"] });
  assert.equal(await output("command"), "alone\n");
  await create("unknown-user", { image, securityContext: { runAsNonRoot: true } });
  assert.match(await waits("unknown-user", "CreateContainerConfigError"), /runAsNonRoot.*"app" is a name/);
});

test("a folder that has what no container may see is no image", async () => {
  for (const path of [folder, "/run", "/proc"]) {
    await create("hidden", { image: `dir:${path}`, command: ["true"] });
    assert.match(await waits("hidden", "ErrImagePull"), /no container may see/);
  }
  await create("nothing", { image: `dir:${join(folder, "none")}`, command: ["true"] });
  assert.match(await waits("nothing", "ErrImagePull"), /does not exist/);
  await create("unnamed", { image: "dir:etc", command: ["true"] });
  assert.match(await waits("unnamed", "InvalidImageName"), /must be absolute/);
});

test("an image is pulled once, by digest, and asked for again as the policy says", async () => {
  const image = `${registry.address}/app:net`;
  await create("never", { image, imagePullPolicy: "Never" });
  assert.match(await waits("never", "ErrImageNeverPull"), /Never/);
  await create("pulled", { image, imagePullPolicy: "IfNotPresent" });
  const seen = await eventually(store, Pods, "pulled", phase("Succeeded"));
  const { imageID = "" } = seen?.status?.containerStatuses?.[0] ?? {};
  assert.match(imageID, new RegExp(`^${registry.address}/app@sha256:[0-9a-f]{64}$`));
  assert.match(await output("pulled"), /^from afar\n/);
  const before = registry.requests.length;
  await create("again", { image, imagePullPolicy: "IfNotPresent" });
  assert.match(await output("again"), /^from afar\n/);
  assert.equal(registry.requests.length, before);
  await create("always", { image, imagePullPolicy: "Always" });
  await output("always");
  const asked = registry.requests.slice(before);
  assert.ok(
    asked.some((request) => request.includes("/manifests/net")),
    asked.join(),
  );
  for (const layer of await layersOf(layout)) {
    assert.ok(
      registry.requests.some((request) => request.includes(layer)),
      layer,
    );
    assert.ok(!asked.some((request) => request.includes(layer)), asked.join());
  }
  // The pods are gone, the image stays, and nothing else.
  const cache = join(folder, "kubelet/images");
  assert.equal((await readdir(join(cache, "unpacked"))).length, 2);
  assert.deepEqual((await readdir(cache)).sort(), ["names", "unpacked"]);
});

/** Digests of the layers of all images of a layout. */
async function layersOf(place: string): Promise<string[]> {
  const read = async (path: string) => JSON.parse(await readFile(join(place, path), "utf8"));
  const { manifests }: { manifests: { digest: string }[] } = await read("index.json");
  const all = manifests.map(({ digest }) => read(`blobs/sha256/${digest.replace("sha256:", "")}`));
  return (await Promise.all(all)).flatMap(({ layers }: { layers: { digest: string }[] }) =>
    layers.map(({ digest }) => digest),
  );
}

test("a registry's own message is reported, and a pod's credentials are used", async () => {
  await create("missing", { image: `${registry.address}/app:none` });
  assert.match(
    await waits("missing", "ErrImagePull"),
    /app:none.*manifest unknown.*image: host, dir:\/PATH/s,
  );
  registry.credentials = "me:secret-text";
  const image = `${registry.address}/app:net`;
  await create("denied", { image, imagePullPolicy: "Always" });
  assert.match(await waits("denied", "ErrImagePull"), /authentication required|unauthorized/i);
  const auths = { [registry.address]: { auth: btoa("me:secret-text") } };
  await store.create(Secrets, {
    ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "login", namespace: "default" } },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": btoa(JSON.stringify({ auths })) },
  });
  await create("allowed", { image, imagePullPolicy: "Always" }, { imagePullSecrets: [{ name: "login" }] });
  assert.match(await output("allowed"), /^from afar\n/);
  registry.credentials = undefined;
});

test("a pod is deleted while its image is on the way", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const asked = once(silent, "connection");
  const { port } = silent.address() as AddressInfo;
  await create("far", { image: `127.0.0.1:${port}/app:net` });
  await asked;
  await remove("far");
  silent.close();
});

test("the signal that an image asks for is the one that its program gets", async () => {
  await addImage(layout, "stop", root, { stopsignal: "SIGQUIT" });
  const script = "trap 'echo quit >/out/quit; exit 0' QUIT; echo up; while :; do sleep 0.05; done";
  const out = join(folder, "out");
  await mkdir(out);
  const volumeMounts = [{ name: "out", mountPath: "/out" }];
  const volumes = [{ name: "out", hostPath: { path: out } }];
  await create(
    "stops",
    { image: `oci:${layout}:stop`, command: ["sh", "-c", script], volumeMounts },
    { volumes, terminationGracePeriodSeconds: 60 },
  );
  await eventually(store, Pods, "stops", phase("Running"));
  await logShows(cluster, "stops", /up/);
  await remove("stops");
  assert.equal(await readFile(join(out, "quit"), "utf8"), "quit\n");
});

test("nothing of a container's own layer is left on disk", async () => {
  const containers = join(folder, "kubelet/runtime/containers");
  assert.deepEqual(await readdir(containers), []);
});
