import { type KindInfo, type KindRegistry, verbsOf } from "../../kinds/kind-info.ts";
import { type GroupVersion, kindsOf, type ServedGroup, servedGroups, virtualKindsOf } from "./versions.ts";
import { specialSubresources, type VirtualKind } from "./virtual-kinds.ts";

const nameOf = ({ group, version }: GroupVersion) => (group === "" ? version : `${group}/${version}`);

/** `/api`. */
export function apiVersions(address: string): object {
  return {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
  };
}

/** `/apis`. */
export function apiGroupList(kinds: KindRegistry): object {
  const groups = servedGroups(kinds).filter(({ name }) => name !== "");
  return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupEntry) };
}

/** `/apis/GROUP`; undefined when there is no such group. */
export function apiGroup(kinds: KindRegistry, name: string): object | undefined {
  const group = servedGroups(kinds).find((served) => served.name === name);
  return group === undefined ? undefined : { kind: "APIGroup", apiVersion: "v1", ...groupEntry(group) };
}

function groupEntry({ name, versions }: ServedGroup): object {
  const entries = versions.map((version) => ({ groupVersion: nameOf({ group: name, version }), version }));
  return { name, versions: entries, preferredVersion: entries[0] };
}

/** `/api/v1` and `/apis/GROUP/VERSION`; undefined when nothing is served there. */
export function apiResourceList(kinds: KindRegistry, at: GroupVersion): object | undefined {
  const served = kindsOf(kinds, at);
  const virtual = virtualKindsOf(kinds, at);
  if (served.length + virtual.length === 0) return undefined;
  const resources = [...served.flatMap((kind) => kindEntries(kind)), ...virtual.map(virtualEntry)];
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion: nameOf(at), resources };
}

function kindEntries(kind: KindInfo): object[] {
  const { resource, singular, shortNames, categories, subresources } = kind;
  const base = { namespaced: resource.namespaced, kind: resource.kind };
  const under = (name: string) => ({ name: `${resource.plural}/${name}`, singularName: "" });
  const entries: object[] = [
    {
      name: resource.plural,
      singularName: singular,
      ...base,
      verbs: verbsOf(kind),
      ...(shortNames.length === 0 ? {} : { shortNames }),
      ...(categories.length === 0 ? {} : { categories }),
    },
  ];
  if (subresources.status) entries.push({ ...under("status"), ...base, verbs: ["get", "patch", "update"] });
  if (subresources.scale !== undefined) {
    const scale = { group: "autoscaling", version: "v1", kind: "Scale" };
    entries.push({ ...under("scale"), ...base, ...scale, verbs: ["get", "patch", "update"] });
  }
  for (const { name, verbs, kind: kindName, group, version } of specialSubresources(
    resource.group,
    resource.plural,
  )) {
    const other = group === undefined || version === undefined ? {} : { group, version };
    entries.push({ ...under(name), namespaced: resource.namespaced, ...other, kind: kindName, verbs });
  }
  return entries;
}

function virtualEntry({ plural, singular, namespaced, kind, shortNames = [] }: VirtualKind): object {
  const entry = { name: plural, singularName: singular, namespaced, kind, verbs: ["create"] };
  return shortNames.length === 0 ? entry : { ...entry, shortNames };
}
