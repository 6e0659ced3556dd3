// A node as clusters have them: containerd and a kubelet, with pods that have addresses of their own.
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { BUSYBOX } from "./images.mjs";
import { NODE_ADDRESS } from "./namespaces.mjs";
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

const IPAM = { type: "host-local", subnet: "10.244.0.0/24", routes: [{ dst: "0.0.0.0/0" }] };
/** A pod reaches its node, and so the API server, and no other machine. */
const NETWORK = {
  cniVersion: "0.4.0",
  name: "pods",
  plugins: [{ type: "ptp", ipMasq: false, ipam: IPAM }],
};

const kubeletConfig = ({ pki, cgroup, socket }) => ({
  ...{ apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" },
  ...{ failCgroupV1: false, failSwapOn: false, cgroupDriver: "cgroupfs", cgroupRoot: `/${cgroup}` },
  ...{ enforceNodeAllocatable: [], containerRuntimeEndpoint: `unix://${socket}` },
  authentication: {
    anonymous: { enabled: false },
    x509: { clientCAFile: pki.at("ca.crt") },
    webhook: { enabled: false },
  },
  authorization: { mode: "AlwaysAllow" },
  ...{ tlsCertFile: pki.at("node.crt"), tlsPrivateKeyFile: pki.at("node.key") },
  // The disk is everybody's on this machine, and its room means nothing.
  evictionHard: {
    ...{ "memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%" },
    "nodefs.inodesFree": "0%",
  },
  ...{ imageGCHighThresholdPercent: 100, makeIPTablesUtilChains: false, resolvConf: "" },
  volumeStatsAggPeriod: "5s",
});

/** Starts both, and waits until the node is ready. `images`: OCI archives. `cgroup`: one that is there. */
export async function startNode(cluster, { bin, images, cgroup }) {
  const folder = join(cluster.folder, "containerd");
  await mkdir(join(folder, "network"), { recursive: true });
  const config = join(folder, "config.toml");
  const socket = join(folder, "containerd.sock");
  await writeFile(config, runtimeConfig(folder));
  await writeFile(join(folder, "network", "10-pods.conflist"), JSON.stringify(NETWORK));
  const log = (name) => ({ log: join(cluster.logs, `${name}.log`) });
  const containerd = new Program("containerd", ["containerd", "-c", config], log("containerd")).start();
  const ctr = (...args) => execute("ctr", ["-a", socket, "-n", "k8s.io", ...args]);
  await until("containerd", () => ctr("version"), 60);
  for (const image of images) await ctr("images", "import", image);
  const settings = join(cluster.folder, "kubelet.json");
  await writeFile(settings, JSON.stringify(kubeletConfig({ pki: cluster.pki, cgroup, socket })));
  const kubelet = new Program(
    "kubelet",
    [
      ...["nice", "-n", "2", join(bin, "kubelet"), `--config=${settings}`],
      ...[`--kubeconfig=${cluster.kubeletConfig}`, `--hostname-override=${cluster.node}`],
      ...[`--node-ip=${NODE_ADDRESS}`, "--root-dir=/var/lib/kubelet", "--v=2"],
    ],
    log("kubelet"),
  ).start();
  const ready = '{.status.conditions[?(@.type=="Ready")].status}';
  await until(
    "the node to be ready",
    async () => (await cluster.kubectl("get", "node", cluster.node, "-o", `jsonpath=${ready}`)) === "True",
    120,
  );
  return { kubelet, containerd, ctr };
}
