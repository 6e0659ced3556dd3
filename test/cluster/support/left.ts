import type { Kubectl } from "../../support/kubectl.ts";

/** Kinds of which each object names its driver, or its class, which has the driver's name here. */
const KINDS = "pv,pvc,volumesnapshots,volumesnapshotcontents,volumeattachments.storage.k8s.io";

interface Left {
  kind: string;
  metadata: { name: string };
  spec: {
    csi?: { driver?: string };
    driver?: string;
    attacher?: string;
    storageClassName?: string;
    volumeSnapshotClassName?: string;
  };
}

/** What is left of these drivers, of objects of Kubernetes: other tests may use the same API server at the same time. */
export async function leftOf(kubectl: Kubectl, ...drivers: readonly string[]): Promise<string[]> {
  const { items } = JSON.parse(await kubectl.run("get", KINDS, "-A", "-o", "json")) as { items: Left[] };
  const isTheirs = ({ spec }: Left): boolean =>
    [spec.csi?.driver, spec.driver, spec.attacher, spec.storageClassName, spec.volumeSnapshotClassName].some(
      (name) => name !== undefined && drivers.includes(name),
    );
  return items.filter(isTheirs).map(({ kind, metadata }) => `${kind}/${metadata.name}`);
}
