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

/** helm as an administrator, in a namespace; throws what it prints. */
export function helmOf(cluster, namespace = "mooring") {
  return async (...args) => {
    const { helm } = await kubectlPaths();
    const env = { PATH: process.env.PATH ?? "", HOME: cluster.folder, KUBECONFIG: cluster.admin };
    const { stdout } = await execute(helm, [...args, "-n", namespace], { env, maxBuffer: 64 << 20 });
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
  await cluster.kubectl("create", "namespace", "shop");
  const found = await besideVendors(cluster, kinds);
  await expect("objects beside ours", found.length > 0, true);
  await helm("uninstall", "mooring");
  await expect("what is left by helm uninstall", (await ours(cluster, kinds)).join(" "), "");
  say(
    `helm: ${installed.length} objects installed, upgraded, rolled back and uninstalled, ${found.length} of others beside them`,
  );
}

/**
 * The control planes of two drivers of other vendors, each in a namespace of its own, beside our volumes. Resolves with their
 * objects, which are gone then.
 */
async function besideVendors(cluster, kinds) {
  const before = await ours(cluster, kinds);
  const reads = async (vendor, namespace) => {
    const who = `--as=system:serviceaccount:${vendor}:mooring-controller`;
    const asked = cluster.kubectl("auth", "can-i", "get", "secrets", "-n", namespace, who);
    return (await asked.catch(({ stdout }) => stdout)).trim();
  };
  const driver = JSON.stringify([{ name: "driver", image: "vendor/driver:1" }]);
  const vendors = ["vendor-a", "vendor-b"];
  for (const vendor of vendors) {
    await helmOf(cluster, vendor)(
      ...["install", "mooring", CHART, "--create-namespace", "--wait=false", "--set", "engine.enabled=false"],
      ...["--set-json", `driver.containers=${driver}`, "--set", "driver.secretNamespaces={shop}"],
    );
    await until(`${vendor} to read secrets in shop`, async () => (await reads(vendor, "shop")) === "yes");
    const elsewhere = await reads(vendor, "default");
    if (elsewhere !== "no") throw new Error(`${vendor} reads secrets elsewhere: ${elsewhere}`);
  }
  const found = (await ours(cluster, kinds)).filter((name) => !before.includes(name));
  const own = found.filter((name) => /^(csidriver|daemonset)/.test(name));
  if (own.length > 0) throw new Error(`a control plane has ${own.join(" ")}`);
  for (const vendor of vendors) await helmOf(cluster, vendor)("uninstall", "mooring");
  const after = await ours(cluster, kinds);
  if (after.join(" ") !== before.join(" "))
    throw new Error(`with the control planes went, or is left: ${after}`);
  return found;
}
