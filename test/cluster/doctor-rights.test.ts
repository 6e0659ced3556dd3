import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { mooring } from "../../packages/cli/src/testing/command.ts";
import { thorough } from "../../packages/store/src/testing/sample.ts";
import { clusterServer } from "./support/cluster-server.ts";

const { kubectl, stop } = await clusterServer();
const folder = await mkdtemp(join(tmpdir(), "mooring-doctor-"));
after(async () => {
  await rm(folder, { recursive: true, force: true });
  await stop();
});

/** An account of a namespace of its own, which has one right of many. */
const ACCOUNT = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: mooring-node, namespace: elsewhere}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: little}
rules: [{apiGroups: [storage.mooring.dev], resources: [volumes], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: little}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: little}
subjects: [{kind: ServiceAccount, name: mooring-node, namespace: elsewhere}]
`;

async function rights(namespace: string) {
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, await kubectl.run("config", "view", "--raw", "--flatten"), { mode: 0o600 });
  const args = ["doctor", "--json", "--kubeconfig", kubeconfig, "--state-dir", folder];
  const { stdout, stderr } = await mooring([...args, "--namespace", namespace]);
  assert.notEqual(stdout, "", stderr);
  const checks = JSON.parse(stdout) as { check: string; state: string; detail: string; next?: string }[];
  return checks.filter(({ check }) => check.startsWith("rights of "));
}

test(
  "doctor reports by verb and resource what the accounts of a cluster may not do",
  thorough(),
  async () => {
    assert.deepEqual(
      (await rights("mooring")).map(({ check, state }) => `${check}: ${state}`),
      ["rights of mooring-controller: ok", "rights of mooring-node: ok"],
    );
    await kubectl.run("create", "namespace", "elsewhere");
    await kubectl.apply(ACCOUNT);
    const checks = await rights("elsewhere");
    const missing = checks.map(({ detail }) => detail);
    assert.ok(
      missing.includes("may not update volumes.storage.mooring.dev/status; needed by node"),
      String(missing),
    );
    assert.ok(missing.some((line) => /may not create leases\S* in namespace kube-system/.test(line)));
    assert.ok(!missing.some((line) => /may not (get|list|watch) volumes\./.test(line)));
    assert.match(checks[0]?.next ?? "", /rbac\.yaml/);
  },
);
