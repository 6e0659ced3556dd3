import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { thorough } from "@mooring/store/testing";
import { programs, runner } from "../testing/kubectl.ts";
import { startTestServer, type TestServer } from "../testing/test-server.ts";
import { ABSENT_KINDS } from "./absent-kinds.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server?.stop());

test("a kind that is not there is discovered, and refused with what there is instead", async () => {
  for (const { group, version, kind, plural, namespaced } of ABSENT_KINDS) {
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const discovered = await server.http.get<{ resources: { name: string; verbs: string[] }[] }>(root);
    const resource = discovered.json.resources.find(({ name }) => name === plural);
    assert.deepEqual(resource?.verbs, ["create"], kind);
    const path = `${root}/${namespaced ? "namespaces/default/" : ""}${plural}`;
    const object = { apiVersion: root.replace(/^\/apis?\//, ""), kind, metadata: { name: "x" } };
    for (const refused of [
      await server.http.post(path, object),
      await server.http.get(path),
      await server.http.get(`${path}/x`),
    ]) {
      assert.equal(refused.status, 405);
      assert.match(refused.text, new RegExp(`standalone has no ${kind}: \\w+`));
    }
    const found = await server.http.get<{ kind: string; items: object[] }>(`${path}?labelSelector=app%3Dx`);
    assert.deepEqual([found.json.kind, found.json.items], [`${kind}List`, []]);
    assert.equal((await server.http.get(`${path}?labelSelector=app%3Dx&watch=1`)).status, 405);
  }
});

/** As users of Kubernetes call them. */
const CALLED: Readonly<Record<string, string>> = {
  ...{
    ds: "DaemonSet",
    rc: "ReplicationController",
    limits: "LimitRange",
    ep: "Endpoints",
    cs: "ComponentStatus",
  },
  ...{ ing: "Ingress", netpol: "NetworkPolicy", ip: "IPAddress", hpa: "HorizontalPodAutoscaler" },
  ...{ pdb: "PodDisruptionBudget", pc: "PriorityClass", csr: "CertificateSigningRequest" },
  ...{ resourceclaims: "ResourceClaim", "resourceclaims.v1beta1.resource.k8s.io": "ResourceClaim" },
  ...{
    "hpa.v1.autoscaling": "HorizontalPodAutoscaler",
    deviceclass: "DeviceClass",
    flowschemas: "FlowSchema",
  },
  ...{ validatingadmissionpolicies: "ValidatingAdmissionPolicy", servicecidr: "ServiceCIDR" },
};

test("kubectl prints of each absent kind, by all its names, that standalone has none, and what to take instead", async () => {
  const { kubectl: program } = await programs();
  const kubectl = runner(program, { folder: server.folder, kubeconfig: server.api.kubeconfig });
  for (const [name, kind] of Object.entries(CALLED)) {
    const { code, stderr } = await kubectl(["get", name]);
    assert.equal(code, 1, name);
    assert.match(stderr, new RegExp(`standalone has no ${kind}: .*take k3s with Mooring's chart`), name);
  }
  const [hpa = "", pdb = ""] = ["autoscaling/v2 HorizontalPodAutoscaler", "policy/v1 PodDisruptionBudget"];
  for (const each of [
    hpa,
    pdb,
    "resource.k8s.io/v1beta1 ResourceClaim",
    "networking.k8s.io/v1 NetworkPolicy",
  ]) {
    const [apiVersion, kind] = each.split(" ");
    const input = JSON.stringify({ apiVersion, kind, metadata: { name: "web" }, spec: {} });
    for (const verb of [
      ["apply"],
      ["create"],
      ["apply", "--server-side"],
      ["delete"],
      ["replace"],
      ["diff"],
    ]) {
      const { stderr } = await kubectl([...verb, "-f", "-"], { input });
      assert.match(stderr, new RegExp(`standalone has no ${kind}: `), `${verb} of ${kind}`);
      assert.doesNotMatch(stderr, /CRDs|resource type/);
    }
  }
  for (const args of [
    ["get", "ing", "-A"],
    ["get", "ing", "-l", "app=web"],
    ["get", "ing", "--watch"],
    ["get", "ing/web", "-o", "yaml"],
    ["describe", "ing"],
    ["describe", "ing", "web"],
    ["delete", "ing", "web"],
    ["edit", "ing", "web"],
    ["label", "ing", "web", "a=b"],
    ["patch", "ing", "web", "-p", "{}"],
    ["wait", "ing/web", "--for=delete"],
    ["create", "ingress", "web", "--rule=example.com/*=web:80"],
  ]) {
    const { stderr } = await kubectl(args);
    assert.match(stderr, /standalone has no Ingress: /, args.join(" "));
  }
});

test("kubectl apply --prune deletes what is not in the files any more, whatever kinds there are", async () => {
  const { kubectl: program } = await programs();
  const kubectl = runner(program, { folder: server.folder, kubeconfig: server.api.kubeconfig });
  const map = (name: string) => ({
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels: { app: "pruned" } } },
  });
  for (const names of [["stays", "goes"], ["stays"]]) {
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: names.map(map) });
    const { code, stderr } = await kubectl(["apply", "-f", "-", "--prune", "-l", "app=pruned"], { input });
    assert.equal(code, 0, stderr);
  }
  const { stdout } = await kubectl(["get", "configmaps", "-l", "app=pruned", "-o", "name"]);
  assert.equal(stdout.trim(), "configmap/stays");
});

test(
  "kubectl prints why an Ingress cannot be, and deletes all of a namespace as before",
  thorough(),
  async () => {
    const { kubectl: program } = await programs();
    const at = { folder: server.folder, kubeconfig: server.api.kubeconfig };
    const kubectl = runner(program, at);
    const ingress = {
      ...{ apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: { name: "web" } },
      spec: { defaultBackend: { service: { name: "web", port: { number: 80 } } } },
    };
    const input = JSON.stringify(ingress);
    for (const args of [
      ["apply", "-f", "-"],
      ["create", "-f", "-"],
      ["apply", "--server-side", "-f", "-"],
      ["get", "ingress"],
      ["get", "ingress", "web"],
    ]) {
      const { code, stderr } = await kubectl(args, { input });
      assert.equal(code, 1, args.join(" "));
      assert.match(stderr, /standalone has no Ingress: containers use the machine's network/, args.join(" "));
      assert.doesNotMatch(stderr, /CRDs/);
    }
    for (const args of [
      ["get", "all"],
      ["delete", "all", "--all"],
      ["api-resources", "--verbs=list,delete"],
    ]) {
      const { code, stdout, stderr } = await kubectl(args);
      assert.equal(code, 0, stderr);
      assert.doesNotMatch(stdout, /ingress/);
    }
  },
);
