const meta = (name = "seed") => ({ metadata: { name } });
const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const container = {
  ...{ name: "c", image: "host", command: ["sleep", "1"], env: [{ name: "A", value: "b" }] },
  ...{ ports: [{ containerPort: 80 }], resources: { requests: { cpu: "1", memory: "1Mi" } } },
  securityContext: { runAsUser: 1, capabilities: { drop: ["ALL"] } },
  livenessProbe: { exec: { command: ["true"] }, periodSeconds: 1 },
  volumeMounts: [{ name: "v", mountPath: "/v" }],
};
const rule = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
const subjects = [{ kind: "User", name: "u", apiGroup: "rbac.authorization.k8s.io" }];

/** One object of a kind that the server takes, by `group/Kind`: what is wrong in a copy of it is wrong deep down. */
export const EXAMPLES: Readonly<Record<string, object>> = {
  "/ConfigMap": { ...meta(), data: { a: "b" }, binaryData: { c: "AAAA" } },
  "/Secret": { ...meta(), stringData: { a: "b" }, type: "Opaque" },
  "/Pod": {
    metadata: { name: "seed", labels: { a: "b" }, annotations: { c: "d" } },
    spec: {
      containers: [container],
      initContainers: [{ ...container, name: "i", livenessProbe: undefined }],
      volumes: [{ name: "v", emptyDir: { sizeLimit: "1Mi" } }],
      tolerations: [{ key: "a", operator: "Exists" }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] }],
          },
        },
      },
      schedulerName: "nobody",
    },
  },
  "/PersistentVolumeClaim": { ...meta(), spec },
  "/PersistentVolume": {
    ...meta(),
    spec: {
      ...{ accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" } },
      csi: { driver: "a", volumeHandle: "b" },
    },
  },
  "/Service": {
    ...meta(),
    spec: { clusterIP: "None", ports: [{ port: 1, name: "p" }], selector: { a: "b" } },
  },
  "/ServiceAccount": meta(),
  "/Node": { ...meta(), spec: { taints: [{ key: "a", effect: "NoSchedule" }] } },
  "/Namespace": meta(),
  "/Event": {
    ...meta(),
    ...{ involvedObject: { kind: "Pod", name: "p", namespace: "default" }, reason: "R", message: "m" },
  },
  "storage.k8s.io/StorageClass": { ...meta(), provisioner: "a", parameters: { b: "c" } },
  "storage.k8s.io/CSIDriver": { ...meta(), spec: { attachRequired: true } },
  "storage.k8s.io/CSINode": { ...meta(), spec: { drivers: [{ name: "a", nodeID: "b" }] } },
  "storage.k8s.io/VolumeAttachment": {
    ...meta(),
    spec: { attacher: "a", nodeName: "n", source: { persistentVolumeName: "p" } },
  },
  "coordination.k8s.io/Lease": { ...meta(), spec: { holderIdentity: "a", leaseDurationSeconds: 1 } },
  "rbac.authorization.k8s.io/Role": { ...meta(), rules: [rule] },
  "rbac.authorization.k8s.io/ClusterRole": {
    ...meta(),
    rules: [rule, { nonResourceURLs: ["/x"], verbs: ["get"] }],
  },
  "rbac.authorization.k8s.io/RoleBinding": { ...meta(), roleRef, subjects },
  "rbac.authorization.k8s.io/ClusterRoleBinding": { ...meta(), roleRef, subjects },
  "snapshot.storage.k8s.io/VolumeSnapshot": {
    ...meta(),
    spec: { source: { persistentVolumeClaimName: "a" } },
  },
  "snapshot.storage.k8s.io/VolumeSnapshotClass": { ...meta(), driver: "a", deletionPolicy: "Delete" },
  "groupsnapshot.storage.k8s.io/VolumeGroupSnapshot": {
    ...meta(),
    spec: {
      source: { selector: { matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "Exists" }] } },
    },
  },
  "example.org/Pile": { ...meta(), spec: { words: ["ab"], numbers: [1, 2], map: { a: { b: 1 } } } },
  "apiextensions.k8s.io/CustomResourceDefinition": {
    ...meta("seeds.fuzz.example.org"),
    spec: {
      ...{ group: "fuzz.example.org", scope: "Namespaced" },
      names: { plural: "seeds", kind: "Seed", shortNames: ["sd"] },
      versions: [
        {
          ...{ name: "v1", served: true, storage: true, subresources: { status: {} } },
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec: {
                  type: "object",
                  properties: {
                    a: { type: "string", pattern: "^a+$" },
                    b: { type: "array", items: { type: "integer" } },
                  },
                  "x-kubernetes-validations": [{ rule: "!has(self.a) || size(self.a) < 9", message: "long" }],
                },
              },
            },
          },
          additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: ".spec.a" }],
        },
      ],
    },
  },
};

/** A kind whose rules cost as much as they may. */
export const PILES = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  ...meta("piles.example.org"),
  spec: {
    ...{ group: "example.org", scope: "Namespaced", names: { plural: "piles", kind: "Pile" } },
    versions: [
      {
        ...{ name: "v1", served: true, storage: true, subresources: { status: {} } },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: {
                  words: {
                    type: "array",
                    items: { type: "string", pattern: "^(([a-z])+.)+[A-Z]?([a-z])*$" },
                  },
                  numbers: {
                    ...{ type: "array", items: { type: "integer" } },
                    "x-kubernetes-validations": [
                      { rule: "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))", message: "negative" },
                    ],
                  },
                  map: {
                    type: "object",
                    additionalProperties: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};
