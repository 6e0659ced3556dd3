import { type KindInfo, type KindRegistry, verbsOf } from "../../kinds/kind-info.ts";
import { type GroupVersion, kindsOf, type ServedGroup, servedGroups, virtualKindsOf } from "./versions.ts";
import { specialSubresources, type VirtualKind } from "./virtual-kinds.ts";

/** apidiscovery.k8s.io APIGroupDiscoveryList: `/api` (the core group) or `/apis` (all others) in one response. */
export function aggregatedDiscovery(kinds: KindRegistry, core: boolean, version: string): object {
  const groups = servedGroups(kinds).filter(({ name }) => (name === "") === core);
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map((group) => groupEntry(kinds, group)),
  };
}

function groupEntry(kinds: KindRegistry, { name, versions }: ServedGroup): object {
  return {
    metadata: { name, creationTimestamp: null },
    versions: versions.map((version) => {
      const at = { group: name, version };
      const resources = [
        ...kindsOf(kinds, at).map((kind) => kindEntry(kind, at)),
        ...virtualKindsOf(kinds, at).map(virtualEntry),
      ];
      return { version, freshness: "Current", resources };
    }),
  };
}

function kindEntry(kind: KindInfo, { group, version }: GroupVersion): object {
  const { resource, singular, shortNames, categories } = kind;
  const subresources = subresourceEntries(kind, { group, version });
  return {
    resource: resource.plural,
    responseKind: { group, version, kind: resource.kind },
    scope: resource.namespaced ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs: verbsOf(kind),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

function subresourceEntries(
  { resource, subresources }: KindInfo,
  { group, version }: GroupVersion,
): object[] {
  const entries: object[] = [];
  const verbs = ["get", "patch", "update"];
  if (subresources.scale !== undefined) {
    const responseKind = { group: "autoscaling", version: "v1", kind: "Scale" };
    entries.push({ subresource: "scale", responseKind, verbs });
  }
  if (subresources.status) {
    entries.push({ subresource: "status", responseKind: { group, version, kind: resource.kind }, verbs });
  }
  for (const special of specialSubresources(resource.group, resource.plural)) {
    const responseKind = {
      group: special.group ?? group,
      version: special.version ?? version,
      kind: special.kind,
    };
    entries.push({ subresource: special.name, responseKind, verbs: special.verbs });
  }
  return entries;
}

function virtualEntry({ plural, singular, namespaced, shortNames = [], ...at }: VirtualKind): object {
  const { group, version, kind } = at;
  return {
    resource: plural,
    responseKind: { group, version, kind },
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs: ["create"],
    ...(shortNames.length === 0 ? {} : { shortNames }),
  };
}
