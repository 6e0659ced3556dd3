// etcd, API server, controller manager and scheduler as they are released, on free ports of the loopback.
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { openCertificates } from "./certificates.mjs";
import { Program, until } from "./program.mjs";

const execute = promisify(execFile);

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Where pods find the API server: the first address of the services. */
export const SERVICE_ADDRESS = "10.96.0.1";

/** Everything that is asked is written down, with who asked and what the response was. */
const AUDIT = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
};

/**
 * `folder`: everything is kept below it. `bin`: where the programs are. `only`: those programs of it. `address`: nodes and pods
 * reach the API server there and at {@link SERVICE_ADDRESS}, port 443; both are addresses of this machine, which nobody shares.
 * `controllers`: those of the controller manager that run.
 */
export async function startControlPlane({ folder, bin, only, address, controllers = ["*"] }) {
  const logs = join(folder, "logs");
  await mkdir(logs, { recursive: true });
  const [free, etcd, peer, manager, scheduler] = await Promise.all(Array.from({ length: 5 }, freePort));
  const api = address === undefined ? free : 443;
  const at = address ?? "127.0.0.1";
  const pki = await openCertificates(folder, `https://${at}:${api}`);
  const names = ["DNS:kubernetes", "DNS:kubernetes.default", "DNS:kubernetes.default.svc", "DNS:localhost"];
  await pki.certificate(
    "apiserver",
    "/CN=kube-apiserver",
    [...names, "IP:127.0.0.1", `IP:${at}`, `IP:${SERVICE_ADDRESS}`].join(","),
  );
  const admin = await pki.identity("admin", "/O=system:masters/CN=admin");
  const policy = join(folder, "audit.json");
  await writeFile(policy, JSON.stringify(AUDIT));
  const auditLog = join(logs, "audit.log");
  const program = (name, args) =>
    new Program(name, ["nice", "-n", "2", join(bin, name), ...args.map((each) => `--${each}`)], {
      log: join(logs, `${name}.log`),
    });
  const client = async (name, subject) => {
    const config = await pki.identity(name, subject);
    return ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"].map(
      (key) => `${key}=${config}`,
    );
  };
  const programs = {
    etcd: program("etcd", [
      ...[`data-dir=${join(folder, "etcd")}`, `listen-client-urls=http://127.0.0.1:${etcd}`],
      ...[`advertise-client-urls=http://127.0.0.1:${etcd}`, `listen-peer-urls=http://127.0.0.1:${peer}`],
      ...[
        `initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
        `initial-cluster=default=http://127.0.0.1:${peer}`,
      ],
    ]),
    "kube-apiserver": program("kube-apiserver", [
      ...[
        `etcd-servers=http://127.0.0.1:${etcd}`,
        `secure-port=${api}`,
        `bind-address=${address === undefined ? "127.0.0.1" : "0.0.0.0"}`,
        `advertise-address=${at}`,
      ],
      ...[`tls-cert-file=${pki.at("apiserver.crt")}`, `tls-private-key-file=${pki.at("apiserver.key")}`],
      ...[`client-ca-file=${pki.at("ca.crt")}`, "anonymous-auth=false", "allow-privileged=true"],
      ...["authorization-mode=Node,RBAC", "enable-admission-plugins=NodeRestriction"],
      "service-account-issuer=https://kubernetes.default.svc",
      ...[
        `service-account-key-file=${pki.at("accounts.pub")}`,
        `service-account-signing-key-file=${pki.at("accounts.key")}`,
      ],
      "kubelet-preferred-address-types=InternalIP",
      ...["service-cluster-ip-range=10.96.0.0/16", `kubelet-client-certificate=${pki.at("admin.crt")}`],
      ...[`kubelet-client-key=${pki.at("admin.key")}`, `kubelet-certificate-authority=${pki.at("ca.crt")}`],
      ...[`audit-policy-file=${policy}`, `audit-log-path=${auditLog}`, "audit-log-maxsize=2000"],
    ]),
    "kube-controller-manager": program("kube-controller-manager", [
      ...(await client("manager", "/CN=system:kube-controller-manager")),
      ...[`service-account-private-key-file=${pki.at("accounts.key")}`, `root-ca-file=${pki.at("ca.crt")}`],
      ...[
        "use-service-account-credentials=true",
        "leader-elect=false",
        "bind-address=127.0.0.1",
        `secure-port=${manager}`,
      ],
      `controllers=${controllers.join(",")}`,
    ]),
    "kube-scheduler": program("kube-scheduler", [
      ...(await client("scheduler", "/CN=system:kube-scheduler")),
      ...["leader-elect=false", "bind-address=127.0.0.1", `secure-port=${scheduler}`],
    ]),
  };
  const started = only ?? Object.keys(programs);
  const kubectl = async (...args) => {
    const { stdout } = await execute("kubectl", ["--kubeconfig", admin, ...args], { maxBuffer: 64 << 20 });
    return stdout;
  };
  /** Times, in milliseconds since 1970, in which it responded and had not read everything yet: its roles, for one. */
  const starts = [];
  const startApiServer = async () => {
    const from = Date.now();
    programs["kube-apiserver"].start();
    await until("the API server", () => kubectl("get", "--raw", "/readyz"));
    starts.push([from, Date.now()]);
  };
  const stop = async () => {
    for (const name of Object.keys(programs).reverse()) await programs[name].end();
  };
  try {
    // The others end when the roles that the API server makes at its start are not there yet.
    const others = started.slice(2);
    programs.etcd.start();
    await startApiServer();
    await until("the default namespace", () => kubectl("get", "namespace", "default"));
    for (const name of others) programs[name].start();
    if (others.length > 0)
      await until("a controller manager that works", () =>
        kubectl("-n", "default", "get", "serviceaccount", "default"),
      );
  } catch (error) {
    await stop();
    throw error;
  }
  const audit = { file: auditLog, starts };
  const store = `http://127.0.0.1:${etcd}`;
  return { programs, kubectl, admin, pki, logs, audit, folder, startApiServer, stop, etcd: store };
}
