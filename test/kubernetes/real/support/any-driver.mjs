// Drivers of others as they run on a node, each with Mooring's control plane around it: as docs/tasks/any-driver.md has it.
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BUNDLE } from "../../../../scripts/lib/bundle.mjs";
import { ROOT } from "../../../../scripts/lib/setup.mjs";
import { loadModule } from "./load-module.mjs";
import { Program, until } from "./program.mjs";

/** What a driver of the table below is: its volumes are folders and files below `volumes`. */
const driver = (name, volumes, rest) => ({
  ...{ name, volumes, socket: `/var/lib/kubelet/plugins/${name}/csi.sock` },
  ...rest,
});

/** `argv` and `env`: its program; `own`: files of its own beside its volumes; `spec`: of its CSIDriver object. */
export const ANY_DRIVERS = {
  hostpath: driver("hostpath.csi.k8s.io", "/var/lib/csi-hostpath-data", {
    own: ["state.json"],
    // Its vendor's manifests have it so, without the controllers that can be left out.
    spec: {
      ...{ volumeLifecycleModes: ["Persistent", "Ephemeral"], podInfoOnMount: true, fsGroupPolicy: "File" },
      storageCapacity: true,
    },
    argv: ({ program, socket, volumes, node }) => [
      ...[program, `--endpoint=unix://${socket}`, `--nodeid=${node}`, `--statedir=${volumes}`, "--v=5"],
      // Calls that come in the wrong order fail.
      ...["--enable-attach", "--enable-controller-modify-volume", "--check-volume-lifecycle"],
    ],
    env: () => ({}),
  }),
  minimal: driver("minimal.example.com", "/var/lib/minimal-volumes", {
    own: [],
    spec: { attachRequired: false, fsGroupPolicy: "File" },
    argv: () => [
      ...[process.execPath, "--conditions=mooring-source", "--import", import.meta.resolve("tsx")],
      join(ROOT, "examples/driver-minimal/driver.ts"),
    ],
    env: ({ socket, volumes }) => ({ CSI_ENDPOINT: `unix://${socket}`, VOLUMES: volumes }),
  }),
};

/** Starts it on this machine, which is the node `node`; resolves when the kubelet has registered it. `program`: the path of one that is built. */
export async function startAnyDriver(kube, driver, { node, program }) {
  const { name, socket, volumes, spec } = driver;
  for (const folder of [dirname(socket), volumes]) await mkdir(folder, { recursive: true });
  const settings = { program, socket, volumes, node };
  const log = join(kube.cluster.logs, `${name}.log`);
  const child = new Program(name, driver.argv(settings), { log, env: driver.env(settings) }).start();
  await until(`${socket}; see ${log}`, () => existsSync(socket), 120);
  await kube.apply({ apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name }, spec });
  const { register } = await loadModule(new URL("registration.ts", import.meta.url), kube.cluster.folder);
  const { server } = await register(socket);
  await kube.shows(`csinode/${node}`, "{.spec.drivers[*].name}", name);
  return {
    child,
    async stop() {
      await server.stop(0);
      await child.end();
    },
  };
}

/** `mooring controller` around it, with the rights that the manifests give it. Resolves when its controllers run. */
export async function startControlling(kube, { name, socket }) {
  const { cluster } = kube;
  const token = await kube.kubectl(
    "-n",
    "mooring",
    "create",
    "token",
    "mooring-controller",
    "--duration=24h",
  );
  const kubeconfig = await cluster.pki.withToken("mooring-controller", token.trim());
  const ready = join(cluster.folder, "controlling");
  const log = join(cluster.logs, "mooring-controller.log");
  const argv = [
    ...[process.execPath, BUNDLE, "controller", "--csi-address", `unix://${socket}`, "--ready-file", ready],
    ...["--kubeconfig", kubeconfig, "--namespace", "mooring", "--log-level", "debug"],
  ];
  const controller = new Program(`mooring controller of ${name}`, argv, { log }).start();
  await until(`the controllers of ${name}; see ${log}`, async () => {
    if (!controller.alive) throw new Error(await controller.output());
    return (await readFile(ready, "utf8").catch(() => "")) !== "";
  });
  return controller;
}

/** What of its volumes and snapshots is on this machine. */
export async function volumesOf({ volumes, own }) {
  return (await readdir(volumes)).filter((file) => !own.includes(file));
}
