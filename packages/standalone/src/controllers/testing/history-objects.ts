import type { Job, Pod, UnstructuredObject } from "@mooring/store";
import { TEST_DRIVER } from "../../kubelet/testing/directory-driver.ts";
import { claim, pod } from "../../kubelet/testing/test-cluster.ts";

/** Of the test's driver. */
export function storageClass(name: string, binding: string) {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name },
    provisioner: TEST_DRIVER,
    reclaimPolicy: "Delete",
    volumeBindingMode: binding,
  };
}

/** A CustomResourceDefinition of its own. */
export function definition(number: number): UnstructuredObject {
  const [plural, kind] = [`things${number}`, `Thing${number}`];
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const versions = [{ name: "v1", served: true, storage: true, schema }];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural, kind, singular: kind.toLowerCase() },
      versions,
    },
  };
}

/** A role, and with another number one that is made of it. */
export function role(number: number): UnstructuredObject {
  const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
  const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];
  if (number === 0) return { ...rbac, metadata: { name: "part", labels: { part: "true" } }, rules };
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { part: "true" } }] };
  return { ...rbac, metadata: { name: "whole" }, aggregationRule, rules: [] };
}

/** A pod whose claim is made for it, and goes with it. */
export function podWithEphemeral(name: string, storageClassName: string): Pod {
  const { spec } = claim("data", { storageClassName });
  const ephemeral = { volumeClaimTemplate: { spec } };
  const made = pod(name, "sleep 1000");
  return { ...made, spec: { ...made.spec, volumes: [{ name: "data", ephemeral }] } } as Pod;
}

/** Two pods, one after the other. */
export function job(name: string, script: string): Job {
  const { spec } = pod(name, script);
  const metadata = { name, namespace: "default" };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata,
    spec: { completions: 2, template: { spec } as never },
  };
}
