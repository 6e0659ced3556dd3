import type { PersistentVolumeClaim } from "@mooring/store";
import type { ReferenceGrant } from "../kube/data-sources.ts";

/** The object that a claim is to begin as a copy of. */
export interface DataSourceReference {
  /** The core group is the empty string. */
  apiGroup: string;
  kind: string;
  namespace: string;
  name: string;
}

type DataSource =
  | { kind: "none" }
  | ({ kind: "VolumeSnapshot" | "PersistentVolumeClaim" } & Omit<DataSourceReference, "kind">)
  /** A populator fills the volume. */
  | { kind: "foreign"; what: string; reference: DataSourceReference }
  | { kind: "error"; error: string };

/** What a claim refers to: `dataSource` wins over `dataSourceRef`, which alone may name another namespace. */
export function dataSourceReference(claim: PersistentVolumeClaim): DataSourceReference | undefined {
  const { dataSource, dataSourceRef } = claim.spec ?? {};
  const source = dataSource ?? dataSourceRef;
  if (source === undefined) return undefined;
  const own = claim.metadata.namespace ?? "";
  const namespace = dataSource === undefined ? dataSourceRef?.namespace || own : own;
  const { apiGroup = "", kind, name } = source;
  return { apiGroup, kind, namespace, name };
}

/** The one data source that a claim means. */
export function dataSourceOf(claim: PersistentVolumeClaim): DataSource {
  const reference = dataSourceReference(claim);
  if (reference === undefined) return { kind: "none" };
  const { apiGroup, kind, name } = reference;
  const isSnapshot = kind === "VolumeSnapshot" && apiGroup === "snapshot.storage.k8s.io";
  const isClaim = kind === "PersistentVolumeClaim" && apiGroup === "";
  if (!isSnapshot && !isClaim)
    return { kind: "foreign", what: apiGroup === "" ? kind : `${kind}.${apiGroup}`, reference };
  return name ? { ...reference, kind } : { kind: "error", error: "the data source has no name" };
}

/** Whether the source is in another namespace, whose owner has to allow it. */
export function isElsewhere(claim: PersistentVolumeClaim, { namespace }: DataSourceReference): boolean {
  return namespace !== (claim.metadata.namespace ?? "");
}

/** Whether one of these grants lets the claim refer to a source in another namespace. */
export function isGranted(
  claim: PersistentVolumeClaim,
  source: DataSourceReference,
  grants: readonly ReferenceGrant[],
): boolean {
  return grants.some(({ metadata, spec }) => {
    const { from = [], to = [] } = spec ?? {};
    return (
      metadata.namespace === source.namespace &&
      from.some(
        ({ group, kind, namespace }) =>
          group === "" && kind === "PersistentVolumeClaim" && namespace === claim.metadata.namespace,
      ) &&
      to.some(
        ({ group, kind, name }) =>
          group === source.apiGroup && kind === source.kind && (!name || name === source.name),
      )
    );
  });
}
