// A node as clusters have them: containerd and a kubelet, with pods that have addresses of their own.
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { BUSYBOX } from "./images.mjs";
import { Program, until } from "./program.mjs";

const execute = promisify(execFile);

const runtimeConfig = (folder) => `version = 2
root = "${folder}/root"
state = "${folder}/state"
disabled_plugins = ["io.containerd.internal.v1.tracing"]
[grpc]
  address = "${folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${BUSYBOX}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${folder}/network"
`;

/** A pod reaches its node, and by it whatever that one reaches. */
const network = (subnet) => ({
  cniVersion: "0.4.0",
  name: "pods",
  plugins: [
    {
      ...{ type: "ptp", ipMasq: false },
      ipam: { type: "host-local", subnet, routes: [{ dst: "0.0.0.0/0" }] },
    },
  ],
});

const kubeletConfig = ({ node, cgroup, socket }) => ({
  ...{ apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" },
  ...{ failCgroupV1: false, failSwapOn: false, cgroupDriver: "cgroupfs", cgroupRoot: `/${cgroup}` },
  ...{ enforceNodeAllocatable: [], containerRuntimeEndpoint: `unix://${socket}` },
  authentication: {
    anonymous: { enabled: false },
    x509: { clientCAFile: node.authority },
    webhook: { enabled: false },
  },
  authorization: { mode: "AlwaysAllow" },
  ...{ tlsCertFile: node.certificate, tlsPrivateKeyFile: node.key },
  // The disk is everybody's on this machine, and its room means nothing.
  evictionHard: {
    ...{ "memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%" },
    "nodefs.inodesFree": "0%",
  },
  ...{ imageGCHighThresholdPercent: 100, makeIPTablesUtilChains: false, resolvConf: "" },
  volumeStatsAggPeriod: "5s",
});

/**
 * What a machine has to know to become this node; it can be written down. `address`: of its machine; `subnet`: of its pods,
 * like `10.244.1.0/24`.
 */
export async function admit({ pki, admin }, { name, address, subnet }) {
  const subject = `/O=system:nodes/CN=system:node:${name}`;
  const kubeconfig = await pki.identity(name, subject, `DNS:${name},IP:${address}`);
  const own = { certificate: pki.at(`${name}.crt`), key: pki.at(`${name}.key`) };
  return { name, address, subnet, kubeconfig, admin, authority: pki.at("ca.crt"), ...own };
}

/**
 * Starts both, and waits until the node is ready. `node`: of {@link admit}; `folder`: everything is kept below it; `images`: OCI
 * archives; `cgroup`: one that is there.
 */
export async function startNode(node, { folder: home, logs, bin, images, cgroup }) {
  const folder = join(home, "containerd");
  await mkdir(join(folder, "network"), { recursive: true });
  const config = join(folder, "config.toml");
  const socket = join(folder, "containerd.sock");
  await writeFile(config, runtimeConfig(folder));
  await writeFile(join(folder, "network", "10-pods.conflist"), JSON.stringify(network(node.subnet)));
  const log = (name) => ({ log: join(logs, `${name}-${node.name}.log`) });
  const containerd = new Program("containerd", ["containerd", "-c", config], log("containerd")).start();
  const ctr = (...args) => execute("ctr", ["-a", socket, "-n", "k8s.io", ...args]);
  await until("containerd", () => ctr("version"));
  for (const image of images) await ctr("images", "import", image);
  const settings = join(home, "kubelet.json");
  await writeFile(settings, JSON.stringify(kubeletConfig({ node, cgroup, socket })));
  const kubelet = new Program(
    "kubelet",
    [
      ...["nice", "-n", "2", join(bin, "kubelet"), `--config=${settings}`],
      ...[`--kubeconfig=${node.kubeconfig}`, `--hostname-override=${node.name}`],
      ...[`--node-ip=${node.address}`, "--root-dir=/var/lib/kubelet", "--v=2"],
    ],
    log("kubelet"),
  ).start();
  const ready = '{.status.conditions[?(@.type=="Ready")].status}';
  const ask = ["--kubeconfig", node.admin, "get", "node", node.name, "-o", `jsonpath=${ready}`];
  await until("the node to be ready", async () => (await execute("kubectl", ask)).stdout === "True");
  return { kubelet, containerd, ctr };
}
