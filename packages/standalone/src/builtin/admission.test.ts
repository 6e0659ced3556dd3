import assert from "node:assert/strict";
import { test } from "node:test";
import type { UnstructuredObject } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { admitCreate, admitUpdate } from "../schema/strategy.ts";
import { builtinKinds } from "./register.ts";
import { failure, kindOf, object } from "./testing/admit.ts";

const claim = { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } };
const pod = { spec: { containers: [{ name: "c", image: "host" }] } };
const pv = {
  spec: {
    accessModes: ["ReadWriteOnce"],
    capacity: { storage: "1Gi" },
    csi: { driver: "d", volumeHandle: "h" },
  },
};

const refusals: { kind: string; fields: Record<string, unknown>; expected: string }[] = [
  {
    kind: "PersistentVolumeClaim",
    fields: { spec: { accessModes: ["ReadWriteOnce"] } },
    expected: "spec.resources[storage]: Required value",
  },
  {
    kind: "PersistentVolumeClaim",
    fields: { spec: { ...claim.spec, accessModes: ["RWO"] } },
    expected:
      'spec.accessModes: Unsupported value: "RWO": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
  },
  {
    kind: "PersistentVolumeClaim",
    fields: { spec: { ...claim.spec, resources: { requests: { storage: "1x" } } } },
    expected: "quantities must match the regular expression",
  },
  {
    kind: "PersistentVolumeClaim",
    fields: { spec: { ...claim.spec, accessModes: "all" } },
    expected: "cannot unmarshal string into array",
  },
  {
    kind: "Lease",
    fields: { spec: { renewTime: "2026-02-28T10:00:00.000000" } },
    expected: 'cannot parse "" as "Z07:00" (field spec.renewTime)',
  },
  {
    kind: "VolumeAttachment",
    fields: { status: { attached: false, attachError: { time: "2026-02-30T10:00:00Z" } } },
    expected: 'parsing time "2026-02-30T10:00:00Z": day out of range (field status.attachError.time)',
  },
  {
    kind: "PersistentVolume",
    fields: { spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" } } },
    expected: "spec: Required value: must specify a volume type",
  },
  { kind: "Pod", fields: { spec: {} }, expected: "spec.containers: Required value" },
  {
    kind: "Pod",
    fields: {
      spec: { containers: [{ name: "c", image: "host", volumeMounts: [{ name: "v", mountPath: "/v" }] }] },
    },
    expected: 'spec.containers[0].volumeMounts[0].name: Not found: "v"',
  },
  {
    kind: "StorageClass",
    fields: { provisioner: "" },
    expected: 'StorageClass.storage.k8s.io "x" is invalid: provisioner: Required value',
  },
  {
    kind: "ConfigMap",
    fields: { data: { "a b": "" } },
    expected: 'data[a b]: Invalid value: "a b": a valid config key',
  },
  {
    kind: "ConfigMap",
    fields: { metadata: { name: "a_b" } },
    expected: 'metadata.name: Invalid value: "a_b": a lowercase RFC 1123 subdomain',
  },
  {
    kind: "ConfigMap",
    fields: { metadata: { name: "x", labels: { a: "b c" } } },
    expected: 'metadata.labels: Invalid value: "b c": a valid label',
  },
  {
    kind: "ConfigMap",
    fields: { metadata: { name: "x", finalizers: ["mine"] } },
    expected: "neither a standard finalizer name",
  },
];

for (const { kind, fields, expected } of refusals) {
  test(`a ${kind} is refused: ${expected.slice(0, 60)}`, () => {
    const schema = kindOf(kind);
    const message = failure(() => admitCreate(schema, object(schema, fields)));
    assert.ok(message.includes(expected), message);
  });
}

test("a claim gets its defaults and loses what it may not have", () => {
  const kind = kindOf("PersistentVolumeClaim");
  const source = { kind: "VolumeSnapshot", apiGroup: "snapshot.storage.k8s.io", name: "s" };
  const spec = {
    ...claim.spec,
    resources: { requests: { storage: "1024Mi" } },
    dataSource: source,
    nonsense: 1,
  };
  const made = admitCreate(kind, object(kind, { spec, status: { phase: "Bound" } }));
  assert.deepEqual(made.spec, {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
    dataSource: source,
    dataSourceRef: source,
    volumeMode: "Filesystem",
  });
  assert.deepEqual(made.status, { phase: "Pending" });
});

test("a pod gets the defaults of a usual cluster", () => {
  const kind = kindOf("Pod");
  const made = admitCreate(kind, object(kind, { spec: { ...pod.spec, volumes: [{ name: "v" }] } }));
  const spec = made.spec as Record<string, unknown>;
  assert.deepEqual(spec.containers, [
    {
      name: "c",
      image: "host",
      resources: {},
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
      imagePullPolicy: "Always",
    },
  ]);
  assert.deepEqual(spec.volumes, [{ name: "v", emptyDir: {} }]);
  assert.equal(spec.restartPolicy, "Always");
  assert.deepEqual(made.status, { phase: "Pending", qosClass: "BestEffort" });
});

const bound = { ...claim, status: { phase: "Bound", capacity: { storage: "1Gi" } } };
const grown = (size: string) => ({
  ...bound,
  spec: { ...claim.spec, resources: { requests: { storage: size } } },
});
const changes: {
  kind: string;
  from: Record<string, unknown>;
  to: Record<string, unknown>;
  expected: string;
}[] = [
  { kind: "PersistentVolumeClaim", from: bound, to: grown("2Gi"), expected: "" },
  { kind: "PersistentVolumeClaim", from: grown("2Gi"), to: bound, expected: "" },
  {
    kind: "PersistentVolumeClaim",
    from: bound,
    to: grown("1Mi"),
    expected: "field can not be less than status.capacity",
  },
  {
    kind: "PersistentVolumeClaim",
    from: claim,
    to: grown("2Gi"),
    expected: "spec is immutable after creation",
  },
  {
    kind: "PersistentVolumeClaim",
    from: claim,
    to: { spec: { ...claim.spec, volumeName: "v" } },
    expected: "",
  },
  {
    kind: "PersistentVolumeClaim",
    from: bound,
    to: { ...bound, spec: { ...claim.spec, accessModes: ["ReadWriteMany"] } },
    expected: "spec is immutable",
  },
  {
    kind: "PersistentVolume",
    from: pv,
    to: { spec: { ...pv.spec, persistentVolumeReclaimPolicy: "Delete", claimRef: { name: "c" } } },
    expected: "",
  },
  {
    kind: "PersistentVolume",
    from: pv,
    to: { spec: { ...pv.spec, csi: { driver: "d", volumeHandle: "other" } } },
    expected: "spec.persistentvolumesource is immutable",
  },
  {
    kind: "StorageClass",
    from: { provisioner: "p", parameters: { a: "b" } },
    to: { provisioner: "p" },
    expected: "parameters: Forbidden: updates to parameters are forbidden.",
  },
  { kind: "Pod", from: pod, to: { spec: { containers: [{ name: "c", image: "other" }] } }, expected: "" },
  { kind: "Pod", from: pod, to: { spec: { ...pod.spec, nodeName: "n" } }, expected: "" },
  {
    kind: "Pod",
    from: pod,
    to: { spec: { ...pod.spec, hostname: "h" } },
    expected: "pod updates may not change fields",
  },
  {
    kind: "CSIDriver",
    from: { spec: { attachRequired: false } },
    to: { spec: { attachRequired: true } },
    expected: "spec.attachRequired: Invalid value: true: field is immutable",
  },
  { kind: "Secret", from: { type: "a/b" }, to: { type: "a/c" }, expected: "type: Invalid value" },
  {
    kind: "ConfigMap",
    from: { immutable: true, data: { a: "1" } },
    to: { immutable: true, data: { a: "2" } },
    expected: "field is immutable when `immutable` is set",
  },
];

for (const { kind, from, to, expected } of changes) {
  test(`a ${kind} ${expected === "" ? "may change" : "stays"}: ${JSON.stringify(to).slice(0, 70)}`, () => {
    const schema = kindOf(kind);
    const old = admitCreate(schema, object(schema, from));
    if (from.status !== undefined) old.status = from.status;
    const message = failure(() => admitUpdate(schema, object(schema, to), structuredClone(old)));
    assert.ok(expected === "" ? message === "" : message.includes(expected), message);
  });
}

test("a claim grows only when its class allows it", () => {
  const kind = kindOf("PersistentVolumeClaim");
  const classed = (size: string) => ({ ...bound, spec: { ...grown(size).spec, storageClassName: "c" } });
  const old = { ...admitCreate(kind, object(kind, classed("1Gi"))), status: bound.status };
  const grow = (storageClass: Record<string, unknown> | undefined) =>
    failure(() =>
      admitUpdate(kind, object(kind, classed("2Gi")), structuredClone(old), {
        lookup: () => storageClass as UnstructuredObject | undefined,
      }),
    );
  assert.equal(grow({ allowVolumeExpansion: true }), "");
  assert.match(
    grow({}),
    /^persistentvolumeclaims "x" is forbidden: only dynamically provisioned pvc can be resized/,
  );
  assert.match(grow(undefined), /must support resize/);
});

test("a CSI volume names its driver and the driver's id of the volume", () => {
  covers("K8S-064");
  const kind = kindOf("PersistentVolume");
  const without = (field: "driver" | "volumeHandle") => {
    const { [field]: _field, ...csi } = pv.spec.csi;
    return failure(() => admitCreate(kind, object(kind, { spec: { ...pv.spec, csi } })));
  };
  assert.match(without("driver"), /spec\.csi\.driver: Required value/);
  assert.match(without("volumeHandle"), /spec\.csi\.volumeHandle: Required value/);
});

test("block mode, file system, attributes and all secrets are part of a CSI volume; pods may have inline ones", () => {
  covers("K8S-135");
  const kind = kindOf("PersistentVolume");
  const secret = { name: "s", namespace: "n" };
  const csi = {
    ...pv.spec.csi,
    readOnly: true,
    fsType: "xfs",
    volumeAttributes: { a: "b" },
    controllerPublishSecretRef: secret,
    nodeStageSecretRef: secret,
    nodePublishSecretRef: secret,
    controllerExpandSecretRef: secret,
    nodeExpandSecretRef: secret,
  };
  const made = admitCreate(kind, object(kind, { spec: { ...pv.spec, volumeMode: "Block", csi } }));
  assert.deepEqual((made.spec as Record<string, unknown>).csi, csi);
  const pods = kindOf("Pod");
  const inline = { name: "v", csi: { driver: "d", fsType: "ext4", volumeAttributes: { a: "b" } } };
  const podMade = admitCreate(pods, object(pods, { spec: { ...pod.spec, volumes: [inline] } }));
  assert.deepEqual((podMade.spec as Record<string, unknown>).volumes, [inline]);
});

test("a VolumeAttachment is cluster-wide; its spec is fixed and its errors have time and message", () => {
  covers("K8S-055", "K8S-060");
  const kind = kindOf("VolumeAttachment");
  assert.equal(
    builtinKinds.find((each) => each.resource.kind === "VolumeAttachment")?.resource.namespaced,
    false,
  );
  const spec = { attacher: "d", nodeName: "n", source: { persistentVolumeName: "v" } };
  const made = admitCreate(kind, object(kind, { spec, status: { attached: true } }));
  assert.deepEqual(made.status, { attached: false });
  const failed = { attached: false, attachError: { time: "2026-01-01T00:00:00Z", message: "m" } };
  const next = object(kind, { spec, status: failed });
  assert.deepEqual(admitUpdate(kind, next, structuredClone(made), { subresource: "status" }).status, failed);
  const moved = object(kind, { spec: { ...spec, nodeName: "other" } });
  assert.match(
    failure(() => admitUpdate(kind, moved, made)),
    /spec: Invalid value: .*: field is immutable/,
  );
});

const container = { name: "c", image: "host" };
const once = { spec: { restartPolicy: "Never", containers: [container] } };
const labeled = { metadata: { labels: { app: "a" } }, spec: { containers: [container] } };

test("a workload with some zeros too many is refused: so many pods would be the end of the process", () => {
  const many = { replicas: 2_000_000_000, selector: { matchLabels: { app: "a" } }, template: labeled };
  for (const name of ["Deployment", "ReplicaSet", "StatefulSet"]) {
    const made = (spec: object) =>
      failure(() => admitCreate(kindOf(name), object(kindOf(name), { spec: { ...many, ...spec } })));
    assert.match(made({}), /spec\.replicas: Invalid value: 2000000000: must be less than or equal to 10000/);
    assert.equal(made({ replicas: 10_000 }), "", name);
  }
  const job = { parallelism: 10_001, completions: 20_000, template: once };
  const cronJob = { schedule: "* * * * *", jobTemplate: { spec: job } };
  const refused = /parallelism: Invalid value: 10001: must be less than or equal to 10000/;
  for (const [name, spec] of [
    ["Job", job],
    ["CronJob", cronJob],
  ] as const)
    assert.match(
      failure(() => admitCreate(kindOf(name), object(kindOf(name), { spec }))),
      refused,
    );
});

test("a Job's selector has the Job's own label, so that it takes no pods of others that have the user's labels", () => {
  const kind = kindOf("Job");
  const metadata = { name: "x", uid: "u" };
  const template = { ...once, metadata: { labels: { app: "db" } } };
  const made = (spec: object) =>
    admitCreate(kind, { ...object(kind, { spec: { template, ...spec } }), metadata }).spec as {
      selector: { matchLabels: Record<string, string> };
    };
  const selector = { matchLabels: { app: "db", "controller-uid": "of the Job before" } };
  const own = "batch.kubernetes.io/controller-uid";
  const { [own]: uid, ...rest } = made({ selector }).selector.matchLabels;
  assert.ok(uid);
  assert.deepEqual(rest, { app: "db" });
  assert.deepEqual(Object.keys(made({}).selector.matchLabels), [own]);
  const manual = { manualSelector: true, selector: { matchLabels: { app: "db" } } };
  assert.deepEqual(made(manual).selector, manual.selector);
});

test("schedules are read as Kubernetes reads them, also those that begin with a number", () => {
  const kind = kindOf("CronJob");
  const made = (schedule: string) =>
    failure(() =>
      admitCreate(kind, object(kind, { spec: { schedule, jobTemplate: { spec: { template: once } } } })),
    );
  for (const schedule of ["0/5 * * * *", "5/15 8-18 * * MON-FRI", "@hourly"])
    assert.equal(made(schedule), "", schedule);
  assert.match(made("61 * * * *"), /spec\.schedule: Invalid value: "61 \* \* \* \*"/);
});

test("names that every object has as properties are nothing but names", () => {
  const kind = kindOf("Pod");
  const made = (spec: object) => admitCreate(kind, object(kind, { spec: { ...pod.spec, ...spec } }));
  const resources = { requests: { constructor: "1" } };
  const { spec } = made({ priorityClassName: "constructor", containers: [{ ...container, resources }] });
  assert.equal((spec as { priority: unknown }).priority, 0);
});
