import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { mustRun, programs, runner } from "./testing/kubectl.ts";
import { startTestServer } from "./testing/test-server.ts";

const FILES: Readonly<Record<string, string>> = {
  "Chart.yaml": "apiVersion: v2\nname: small\nversion: 1.0.0\n",
  "values.yaml": "color: red\n",
  "crds/stones.yaml": `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: stones.quarry.example.com}
spec:
  group: quarry.example.com
  names: {plural: stones, singular: stone, kind: Stone}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {weight: {type: integer}}}}}}
`,
  "templates/all.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-config}
data: {color: {{ .Values.color }}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ .Release.Name }}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: {{ .Release.Name }}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: {{ .Release.Name }}-data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: quarry.example.com/v1
kind: Stone
metadata: {name: {{ .Release.Name }}}
spec: {weight: 3}
`,
};

test("helm installs, upgrades, lists, rolls back and uninstalls a chart with a definition", async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const { helm: helmPath, kubectl: kubectlPath } = await programs();
  const chart = join(server.folder, "chart");
  for (const [name, content] of Object.entries(FILES)) {
    await mkdir(join(chart, name, ".."), { recursive: true });
    await writeFile(join(chart, name), content);
  }
  const at = { folder: server.folder, kubeconfig: server.api.kubeconfig };
  const helm = mustRun(runner(helmPath, at));
  const kubectl = mustRun(runner(kubectlPath, at));
  const color = () => kubectl(["-n", "charts", "get", "cm", "one-config", "-o", "jsonpath={.data.color}"]);

  assert.match(
    await helm(["install", "one", chart, "-n", "charts", "--create-namespace"]),
    /STATUS: deployed/,
  );
  assert.equal(await color(), "red");
  assert.equal(await kubectl(["-n", "charts", "get", "stone", "one", "-o", "jsonpath={.spec.weight}"]), "3");
  await helm(["upgrade", "one", chart, "-n", "charts", "--set", "color=blue"]);
  assert.equal(await color(), "blue");
  assert.match(await helm(["list", "-n", "charts"]), /one\s+charts\s+2/);
  await helm(["rollback", "one", "1", "-n", "charts"]);
  assert.equal(await color(), "red");
  await helm(["uninstall", "one", "-n", "charts", "--wait", "--timeout", "60s"]);
  assert.equal(
    await kubectl(["-n", "charts", "get", "cm,pvc,stones,roles", "-o", "name"]),
    "configmap/kube-root-ca.crt\n",
  );
});
