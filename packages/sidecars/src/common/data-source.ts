import type { PersistentVolumeClaim } from "@mooring/store";

type DataSource =
  | { kind: "none" }
  | { kind: "VolumeSnapshot" | "PersistentVolumeClaim"; namespace: string; name: string }
  /** Somebody else fills the volume: a populator. */
  | { kind: "foreign"; what: string }
  | { kind: "error"; error: string };

/** The one data source that a claim means: `dataSource` wins over `dataSourceRef`. */
export function dataSourceOf(claim: PersistentVolumeClaim): DataSource {
  const { dataSource, dataSourceRef } = claim.spec ?? {};
  const source = dataSource ?? dataSourceRef;
  if (source === undefined) return { kind: "none" };
  const namespace = claim.metadata.namespace ?? "";
  if (dataSource === undefined && dataSourceRef?.namespace && dataSourceRef.namespace !== namespace)
    return { kind: "error", error: "data sources in another namespace are not supported" };
  const { apiGroup = "", kind, name } = source;
  if (kind === "VolumeSnapshot" && apiGroup === "snapshot.storage.k8s.io")
    return name ? { kind, namespace, name } : { kind: "error", error: "the data source has no name" };
  if (kind === "PersistentVolumeClaim" && apiGroup === "")
    return name ? { kind, namespace, name } : { kind: "error", error: "the data source has no name" };
  return { kind: "foreign", what: apiGroup === "" ? kind : `${kind}.${apiGroup}` };
}
