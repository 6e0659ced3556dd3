import { defineResource, type KubeObject } from "@mooring/store";

/**
 * Lets objects of other namespaces refer to objects of its own: claims of a namespace in `from` may begin as copies of what
 * `to` names.
 */
export interface ReferenceGrant extends KubeObject {
  /** Its definition does not require it. */
  spec?: {
    /** The core group is the empty string. */
    from?: { group: string; kind: string; namespace: string }[];
    /** Without a name: all of the kind. */
    to?: { group: string; kind: string; name?: string }[];
  };
}

/** Served at `/apis/gateway.networking.k8s.io/v1beta1/namespaces/NAMESPACE/referencegrants`. */
export const ReferenceGrants = defineResource<ReferenceGrant>({
  group: "gateway.networking.k8s.io",
  version: "v1beta1",
  kind: "ReferenceGrant",
  plural: "referencegrants",
  namespaced: true,
});

/** A populator fills volumes from data sources of this kind. */
export interface VolumePopulator extends KubeObject {
  sourceKind: { group: string; kind: string };
}

/** Served at `/apis/populator.storage.k8s.io/v1beta1/volumepopulators`. */
export const VolumePopulators = defineResource<VolumePopulator>({
  group: "populator.storage.k8s.io",
  version: "v1beta1",
  kind: "VolumePopulator",
  plural: "volumepopulators",
  namespaced: false,
});
