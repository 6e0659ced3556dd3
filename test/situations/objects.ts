import { claim, pod, snapshot } from "../support/manifests.ts";

/** The runner gives every namespaced object the situation's namespace. */
const HERE = "here";

export const aClaim = (name: string, options: Parameters<typeof claim>[2] = {}): ReturnType<typeof claim> =>
  claim(HERE, name, options);
export const aSnapshot = (name: string, of: string): ReturnType<typeof snapshot> => snapshot(HERE, name, of);
export const aPod = (
  name: string,
  script = "exec sleep 100000",
  mounts: Record<string, string> = {},
  policy: "Always" | "OnFailure" | "Never" = "Always",
): ReturnType<typeof pod> => pod(HERE, name, script, { mounts, restartPolicy: policy });

type Container = NonNullable<ReturnType<typeof pod>["spec"]>["containers"][number];

/** The pod with other fields of its container. */
export function withContainer(of: ReturnType<typeof pod>, fields: Partial<Container>): object {
  const [main] = of.spec?.containers ?? [];
  return { ...of, spec: { ...of.spec, containers: [{ ...main, ...fields }] } };
}

export function withSpec(of: { spec?: object }, fields: object): object {
  return { ...of, spec: { ...of.spec, ...fields } };
}

/** Of the cluster; named after its situation. */
export function aClass(name: string, fields: object = {}): object {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name, namespace: "" },
    provisioner: "csi.mooring.dev",
    ...fields,
  };
}

export function withFinalizer<T extends { metadata: object }>(of: T): T {
  return { ...of, metadata: { ...of.metadata, finalizers: ["example.com/holds-it"] } };
}
