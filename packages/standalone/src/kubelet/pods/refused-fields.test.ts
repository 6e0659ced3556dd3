import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@mooring/store";
import { defined } from "@mooring/store";
import type { MachineSupport } from "../../runtime/index.ts";
import type { Container } from "./field-ref.ts";
import { refusedFields, type Spec } from "./refused-fields.ts";

const controllers = new Set(["memory", "cpu", "pids"]);
const NO_APPARMOR = { enabled: false, profiles: new Set<string>(), canLoad: false };
const MACHINE: MachineSupport = { controllers, noUserNamespaces: undefined, appArmor: NO_APPARMOR };

function refused(
  container: Partial<Container>,
  spec: Partial<Spec> = {},
  machine: Partial<MachineSupport> = {},
): string[] {
  const first: Container = { name: "first", image: "host" };
  const own: Container = { name: "own", image: "host", ...container };
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { containers: [first, own], ...spec },
  };
  return refusedFields(pod, own, { ...MACHINE, ...machine }).map((text) => text.split(": ")[0] ?? "");
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
  ["hostNetwork", { hostUsers: false, hostNetwork: true }],
  ["securityContext.appArmorProfile", { securityContext: { appArmorProfile: { type: "RuntimeDefault" } } }],
  ["shareProcessNamespace", { shareProcessNamespace: true }],
  ["resources.limits", { resources: { limits: { cpu: "1" } } }],
  ["resourceClaims", { resourceClaims: [{ name: "gpu" }] }],
  ["volumes[0].emptyDir.medium", { volumes: [{ name: "v", emptyDir: { medium: "HugePages-2Mi" } }] }],
  ["runtimeClassName", { runtimeClassName: "gvisor" }],
  ["automountServiceAccountToken", { automountServiceAccountToken: true }],
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
  assert.deepEqual(
    refused({ resources: { limits: { memory: "64Mi", cpu: "1" } } }, {}, { controllers: new Set(["cpu"]) }),
    ["spec.containers[1].resources.limits[memory]"],
  );
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

test("an init container is a sidecar or has the pod's restartPolicy", () => {
  const asking = (restartPolicy: string) => {
    const init: Container = { name: "init", image: "host", restartPolicy };
    const spec = { initContainers: [init], containers: [{ name: "main", image: "host" }] };
    return refusedFields({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec }, init, MACHINE);
  };
  assert.deepEqual(asking("Always"), []);
  for (const policy of ["Never", "OnFailure"])
    assert.deepEqual(asking(policy), [
      "spec.initContainers[0].restartPolicy: use Always for a sidecar, else the pod's",
    ]);
});

test("what newer and older Kubernetes ask for is refused where it is not done", () => {
  const containers = (fields: object) =>
    refused(fields as never).map((path) => path.replace("spec.containers[1].", ""));
  assert.deepEqual(
    containers({
      restartPolicy: "Never",
      restartPolicyRules: [{ action: "Restart" }],
      env: [{ name: "FROM_FILE", valueFrom: { fileKeyRef: { volumeName: "v", path: "p", key: "k" } } }],
      ports: [{ containerPort: 80, hostPort: 8080 }],
      livenessProbe: { exec: { command: ["true"] }, terminationGracePeriodSeconds: 1 },
    }),
    ["livenessProbe.terminationGracePeriodSeconds", "restartPolicyRules", "env", "ports", "restartPolicy"],
  );
  assert.deepEqual(containers({ ports: [{ containerPort: 80, hostIP: "10.0.0.1" }] }), ["ports"]);
  assert.deepEqual(containers({ ports: [{ containerPort: 80, hostPort: 80 }, { containerPort: 81 }] }), []);
  const others = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone" }] };
  const spread = (whenUnsatisfiable: string) => ({
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable }],
  });
  assert.deepEqual(
    refused({}, {
      hostnameOverride: "other",
      setHostnameAsFQDN: true,
      ephemeralContainers: [{ name: "debug", image: "host" }],
      affinity: { podAffinity: others, podAntiAffinity: others },
      ...spread("DoNotSchedule"),
    } as never),
    [
      "hostnameOverride",
      "setHostnameAsFQDN",
      "ephemeralContainers",
      "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution",
      "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution",
      "topologySpreadConstraints",
    ].map((field) => `spec.${field}`),
  );
  assert.deepEqual(refused({}, spread("ScheduleAnyway") as never), []);
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

test("users of one's own are refused where the kernel has none, and raw volumes with them", () => {
  assert.deepEqual(refused({}, { hostUsers: false }), []);
  assert.deepEqual(refused({}, { hostUsers: false }, { noUserNamespaces: "old" }), ["spec.hostUsers"]);
  const volumeDevices = [{ name: "v", devicePath: "/dev/v" }];
  assert.deepEqual(refused({ volumeDevices }, { hostUsers: false }), ["spec.containers[1].volumeDevices"]);
  assert.deepEqual(refused({ volumeDevices }), []);
});

test("an AppArmor profile is honoured where the kernel has it, or can get it", () => {
  const asks = (type: string, localhostProfile?: string) => ({
    securityContext: {
      appArmorProfile: { type, ...defined({ localhostProfile }) },
    },
  });
  const path = ["spec.containers[1].securityContext.appArmorProfile"];
  const appArmor = { enabled: true, profiles: new Set(["mine"]), canLoad: true };
  assert.deepEqual(refused(asks("Localhost", "mine"), {}, { appArmor }), []);
  assert.deepEqual(refused(asks("Localhost", "other"), {}, { appArmor }), path);
  assert.deepEqual(refused(asks("Localhost", "mine")), path);
  assert.deepEqual(refused(asks("RuntimeDefault"), {}, { appArmor }), []);
  assert.deepEqual(refused(asks("RuntimeDefault"), {}, { appArmor: { ...appArmor, canLoad: false } }), path);
  assert.deepEqual(refused(asks("Unconfined")), []);
});

test("a profile that is asked for by an annotation is refused, unless the field says which", () => {
  const annotations = { "container.apparmor.security.beta.kubernetes.io/main": "localhost/mine" };
  const ask = (main: Container) => {
    const metadata = { name: "p", annotations };
    return refusedFields(
      { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [main] } },
      main,
      MACHINE,
    );
  };
  const main: Container = { name: "main", image: "host" };
  assert.deepEqual(ask(main), [
    "metadata.annotations[container.apparmor.security.beta.kubernetes.io/main]: use securityContext.appArmorProfile",
  ]);
  assert.deepEqual(ask({ ...main, securityContext: { appArmorProfile: { type: "Unconfined" } } }), []);
});
