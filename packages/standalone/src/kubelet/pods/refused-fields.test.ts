import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@mooring/store";
import type { Container } from "./field-ref.ts";
import { refusedFields, type Spec } from "./refused-fields.ts";

const ALL = new Set(["memory", "cpu", "pids"]);

function refused(container: Partial<Container>, spec: Partial<Spec> = {}, controllers = ALL): string[] {
  const first: Container = { name: "first", image: "host" };
  const own: Container = { name: "own", image: "host", ...container };
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { containers: [first, own], ...spec },
  };
  return refusedFields(pod, own, controllers).map((text) => text.split(": ")[0] ?? "");
}

const SECURITY: readonly (readonly [string, NonNullable<Container["securityContext"]>])[] = [
  ["privileged", { privileged: true }],
  ["procMount", { procMount: "Unmasked" }],
  ["seccompProfile", { seccompProfile: { type: "Localhost", localhostProfile: "mine.json" } }],
  ["appArmorProfile", { appArmorProfile: { type: "RuntimeDefault" } }],
  ["seLinuxOptions", { seLinuxOptions: { level: "s0" } }],
  ["capabilities.add", { capabilities: { add: ["ROOT"] } }],
];
for (const [field, securityContext] of SECURITY) {
  test(`a container's ${field} that cannot be honoured is refused with its path`, () => {
    assert.deepEqual(refused({ securityContext }), [`spec.containers[1].securityContext.${field}`]);
  });
}

const POD: readonly (readonly [string, Partial<Spec>])[] = [
  ["hostPID", { hostPID: true }],
  ["hostIPC", { hostIPC: true }],
  ["hostUsers", { hostUsers: false }],
  ["shareProcessNamespace", { shareProcessNamespace: true }],
  ["resources.limits", { resources: { limits: { cpu: "1" } } }],
  ["resourceClaims", { resourceClaims: [{ name: "gpu" }] }],
  ["volumes[0].emptyDir.medium", { volumes: [{ name: "v", emptyDir: { medium: "HugePages-2Mi" } }] }],
  ["runtimeClassName", { runtimeClassName: "gvisor" }],
  ["securityContext.sysctls", { securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] } }],
  ["securityContext.seccompProfile", { securityContext: { seccompProfile: { type: "Localhost" } } }],
];
for (const [field, spec] of POD) {
  test(`a pod's ${field} that cannot be honoured is refused with its path`, () => {
    assert.deepEqual(refused({}, spec), [`spec.${field}`]);
  });
}

test("limits are refused where nobody keeps them: without the controller, and of other resources", () => {
  const resources = {
    limits: { memory: "64Mi", cpu: "1", "ephemeral-storage": "1Gi", "hugepages-2Mi": "2Mi" },
  };
  assert.deepEqual(refused({ resources }), ["spec.containers[1].resources.limits[hugepages-2Mi]"]);
  assert.deepEqual(refused({ resources: { limits: { memory: "64Mi", cpu: "1" } } }, {}, new Set(["cpu"])), [
    "spec.containers[1].resources.limits[memory]",
  ]);
});

test("handlers, probes, terminals and mounts that do not exist here are refused", () => {
  const newer = { stopSignal: "SIGNONE" };
  assert.deepEqual(
    refused({
      lifecycle: {
        ...newer,
        postStart: { sleep: { seconds: 1 } },
        preStop: { httpGet: { port: 80 } },
      },
      livenessProbe: { grpc: { port: 1 } },
      resources: { claims: [{ name: "gpu" }] },
      tty: true,
      volumeMounts: [{ name: "v", mountPath: "/v", mountPropagation: "Bidirectional" }],
    }),
    [
      "lifecycle.postStart",
      "lifecycle.preStop",
      "lifecycle.stopSignal",
      "resources.claims",
      "tty",
      "livenessProbe.grpc",
      "volumeMounts",
    ].map((field) => `spec.containers[1].${field}`),
  );
});

test("what restricted pods say is honoured, as is null, which is how servers write nothing", () => {
  const nothing = null as never;
  const spec = {
    hostUsers: true,
    hostPID: false,
    resources: { requests: { cpu: "1" } },
    volumes: [
      { name: "disk", emptyDir: {} },
      { name: "ram", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
      { name: "null", emptyDir: { medium: nothing, sizeLimit: nothing } },
    ],
    securityContext: { seccompProfile: { type: "RuntimeDefault" } },
  };
  assert.deepEqual(
    refused(
      {
        securityContext: {
          privileged: false,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] },
          seccompProfile: { type: "Unconfined" },
          procMount: "Default",
        },
        lifecycle: { postStart: { exec: { command: ["true"] } } },
        volumeMounts: [{ name: "v", mountPath: "/v" }],
        resources: { requests: { memory: "1Gi", "ephemeral-storage": "1Gi" } },
      },
      spec,
    ),
    [],
  );
  assert.deepEqual(
    refused({ securityContext: nothing, lifecycle: nothing, resources: nothing, volumeMounts: nothing }),
    [],
  );
});
