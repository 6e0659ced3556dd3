/** Definitions of kinds that others install, and that say where claims may begin from: without them nobody watches such objects. */
const definition = (group: string, kind: string, plural: string, scope: "Namespaced" | "Cluster"): string =>
  JSON.stringify({
    ...{ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
    metadata: {
      name: `${plural}.${group}`,
      // The server lets nobody take a name below k8s.io by accident.
      annotations: { "api-approved.kubernetes.io": "unapproved, for a test" },
    },
    spec: {
      ...{ group, scope, names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` } },
      versions: [
        {
          ...{ name: "v1beta1", served: true, storage: true },
          schema: {
            openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          },
        },
      ],
    },
  });

export const FOREIGN_KINDS: readonly string[] = [
  definition("gateway.networking.k8s.io", "ReferenceGrant", "referencegrants", "Namespaced"),
  definition("populator.storage.k8s.io", "VolumePopulator", "volumepopulators", "Cluster"),
];
