// Install, upgrade, rollback and uninstall of the chart by helm, on a real API server. Nothing runs: what counts is what the
// server takes, and what is left.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { kubectlPaths } from "../../../scripts/kubectl.mjs";
import { CHART, renderChart } from "../../../scripts/lib/manifests.mjs";
import { until } from "./support/program.mjs";

const execute = promisify(execFile);

/** Objects of these namespaces and kinds that are ours, by name. */
async function ours(cluster, kinds) {
  const found = await cluster.kubectl(
    ...["get", kinds, "-A", "-l", "app.kubernetes.io/name=mooring", "-o", "name", "--ignore-not-found"],
  );
  return found.split("\n").filter((line) => line !== "");
}

/** helm as an administrator; throws what it prints. */
export function helmOf(cluster) {
  return async (...args) => {
    const { helm } = await kubectlPaths();
    const env = { PATH: process.env.PATH ?? "", HOME: cluster.folder, KUBECONFIG: cluster.admin };
    const { stdout } = await execute(helm, [...args, "-n", "mooring"], { env, maxBuffer: 64 << 20 });
    return stdout;
  };
}

export async function helmStep(cluster, say) {
  const helm = helmOf(cluster);
  const rendered = parseAllDocuments(await renderChart()).map((document) => document.toJS());
  const kinds = [...new Set(rendered.filter(Boolean).map(({ kind }) => kind.toLowerCase()))].join(",");
  const replicas = () =>
    cluster.kubectl(
      ...["-n", "mooring", "get", "deployment", "mooring-controller", "-o", "jsonpath={.spec.replicas}"],
    );
  const expect = async (what, seen, wanted) => {
    if (seen !== wanted) throw new Error(`${what}: ${seen}, not ${wanted}`);
  };
  await helm("install", "mooring", CHART, "--create-namespace", "--wait=false");
  const installed = await ours(cluster, kinds);
  await expect("objects of the chart", installed.length, rendered.filter(Boolean).length);
  // The same again is no change; another value is one; and back.
  await helm("upgrade", "mooring", CHART, "--wait=false", "--set", "controller.replicas=3");
  await expect("replicas after the upgrade", await replicas(), "3");
  await helm("rollback", "mooring", "1", "--wait=false");
  await expect("replicas after the rollback", await replicas(), "2");
  await helm(
    ...["upgrade", "mooring", CHART, "--wait=false", "--set", "metrics.enabled=false"],
    ...["--set", "networkPolicy.enabled=true", "--set", "node.pool.type=btrfs"],
  );
  await expect("services without metrics", (await ours(cluster, "service")).length, 0);
  await helm("uninstall", "mooring");
  await expect("what is left by helm uninstall", (await ours(cluster, kinds)).join(" "), "");
  await cluster.kubectl("create", "namespace", "shop");
  await helm(
    ...["install", "beside", CHART, "--wait=false", "--set", "engine.enabled=false"],
    ...["--set", "driver.secretNamespaces={shop}"],
  );
  const reads = async (namespace) => {
    const who = "--as=system:serviceaccount:mooring:mooring-controller";
    const asked = cluster.kubectl("auth", "can-i", "get", "secrets", "-n", namespace, who);
    return (await asked.catch(({ stdout }) => stdout)).trim();
  };
  await until("the control plane to read secrets in shop", async () => (await reads("shop")) === "yes");
  await expect("what it reads of secrets elsewhere", await reads("default"), "no");
  await expect("CSIDrivers of a control plane", (await ours(cluster, "csidriver,daemonset")).length, 0);
  await helm("uninstall", "beside");
  await expect("what is left of the control plane", (await ours(cluster, kinds)).join(" "), "");
  say(`helm: ${installed.length} objects installed, upgraded, rolled back and uninstalled`);
}
