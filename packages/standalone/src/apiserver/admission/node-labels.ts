/** Labels of Kubernetes' own that a node sets itself; all others of these domains are for others to trust in. */
const OF_NODES = new Set([
  ...["kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch"],
  ...["topology.kubernetes.io/zone", "topology.kubernetes.io/region"],
  ...["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"],
  ...["beta.kubernetes.io/os", "beta.kubernetes.io/arch"],
  ...["failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"],
]);
const DOMAINS_OF_NODES = ["kubelet.kubernetes.io", "node.kubernetes.io"];
const RESERVED = "node-restriction.kubernetes.io";

const isBelow = (domain: string, parent: string) => domain === parent || domain.endsWith(`.${parent}`);

type Labels = Readonly<Record<string, string>>;

/** The labels that a node must not set, change or take away, of those that differ. */
export function forbiddenLabels(next: Labels = {}, old: Labels = {}): string[] {
  const value = (labels: Labels, key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  const changed = Object.keys({ ...old, ...next }).filter((key) => value(next, key) !== value(old, key));
  return changed.filter(isForbidden).sort();
}

function isForbidden(key: string): boolean {
  const [domain = ""] = key.includes("/") ? key.split("/") : [];
  if (isBelow(domain, RESERVED)) return true;
  if (!isBelow(domain, "kubernetes.io") && !isBelow(domain, "k8s.io")) return false;
  return !OF_NODES.has(key) && !DOMAINS_OF_NODES.some((parent) => isBelow(domain, parent));
}
