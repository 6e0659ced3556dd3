import type { Pod } from "@mooring/store";
import {
  type AppArmor,
  CAPABILITIES,
  type MachineSupport,
  MOUNTS_READ_ONLY_BELOW,
  signalNumber,
} from "../../runtime/index.ts";
import type { Container } from "./field-ref.ts";

type Resources = { limits?: Record<string, string>; requests?: Record<string, string> };
/** The pod, with fields that servers know and the types do not yet. */
export type Spec = NonNullable<Pod["spec"]> & {
  resources?: Resources;
  hostnameOverride?: string;
  automountServiceAccountToken?: boolean;
};
type Newer = Container & { restartPolicyRules?: object[] };
type Lifecycle = NonNullable<Container["lifecycle"]> & { stopSignal?: string };

/** Path of a field below the pod or the container, and why its value cannot be honoured; undefined when it can. */
type Rule<T> = readonly [path: string, refuse: (owner: T) => string | undefined];

const NO_NAMES = "names are resolved as the machine does";
const given = (value: unknown): boolean =>
  value !== undefined && value !== null && (!Array.isArray(value) || value.length > 0);
const unless = (honoured: boolean, reason: string): string | undefined => (honoured ? undefined : reason);
const ifGiven = (value: unknown, reason: string): string | undefined => unless(!given(value), reason);
const profile = (value: { type?: string } | undefined, known: readonly string[], what: string) =>
  unless(value?.type === undefined || known.includes(value.type), what);

const NO_LOCALHOST = "profiles of the node are not supported; use RuntimeDefault";
const NO_SELINUX = "SELinux labels are not applied here";
const NO_WINDOWS = "this is Linux";
const ALONE = "pods are placed without regard to where others are";
const NO_DEVICES = "devices of resource claims are not handed out here";
const SECCOMP = ["RuntimeDefault", "Unconfined"];

const POD_RULES: readonly Rule<Spec>[] = [
  ["hostPID", (s) => unless(s.hostPID !== true, "containers never see the machine's processes")],
  ["hostIPC", (s) => unless(s.hostIPC !== true, "containers never share the machine's IPC")],
  [
    "shareProcessNamespace",
    (s) => unless(s.shareProcessNamespace !== true, "each container has its own processes"),
  ],
  [
    "hostNetwork",
    (s) =>
      unless(s.hostNetwork !== true || s.hostUsers !== false, "cannot be set together with hostUsers: false"),
  ],
  [
    "resources.limits",
    (s) =>
      unless(
        Object.keys(s.resources?.limits ?? {}).length === 0,
        "limit each container: a pod has none of its own",
      ),
  ],
  ["resourceClaims", (s) => ifGiven(s.resourceClaims, NO_DEVICES)],
  ["runtimeClassName", (s) => ifGiven(s.runtimeClassName || undefined, "there is one runtime, runc")],
  ["os.name", (s) => unless((s.os?.name ?? "linux") === "linux", NO_WINDOWS)],
  ["hostAliases", (s) => ifGiven(s.hostAliases, NO_NAMES)],
  ["dnsConfig", (s) => ifGiven(s.dnsConfig, NO_NAMES)],
  ["dnsPolicy", (s) => unless(s.dnsPolicy !== "None", NO_NAMES)],
  [
    "automountServiceAccountToken",
    (s) =>
      unless(
        s.automountServiceAccountToken !== true,
        "no token comes by itself; use a projected volume with a serviceAccountToken",
      ),
  ],
  ["hostnameOverride", (s) => ifGiven(s.hostnameOverride || undefined, "use hostname")],
  ["setHostnameAsFQDN", (s) => unless(s.setHostnameAsFQDN !== true, NO_NAMES)],
  ["ephemeralContainers", (s) => ifGiven(s.ephemeralContainers, "none are started here; use kubectl exec")],
  ...(["podAffinity", "podAntiAffinity"] as const).map(
    (name) =>
      [
        `affinity.${name}.requiredDuringSchedulingIgnoredDuringExecution`,
        (s: Spec) => ifGiven(s.affinity?.[name]?.requiredDuringSchedulingIgnoredDuringExecution, ALONE),
      ] as const,
  ),
  [
    "topologySpreadConstraints",
    (s) =>
      unless(
        !s.topologySpreadConstraints?.some((each) => each.whenUnsatisfiable === "DoNotSchedule"),
        `${ALONE}; use ScheduleAnyway`,
      ),
  ],
  ["securityContext.seLinuxOptions", (s) => ifGiven(s.securityContext?.seLinuxOptions, NO_SELINUX)],
  ["securityContext.windowsOptions", (s) => ifGiven(s.securityContext?.windowsOptions, NO_WINDOWS)],
  [
    "securityContext.sysctls",
    (s) => ifGiven(s.securityContext?.sysctls, "pods share the machine's network and kernel"),
  ],
  [
    "securityContext.seccompProfile",
    (s) => profile(s.securityContext?.seccompProfile, SECCOMP, NO_LOCALHOST),
  ],
];

const CONTAINER_RULES: readonly Rule<Container>[] = [
  [
    "securityContext.privileged",
    (c) => unless(c.securityContext?.privileged !== true, "no container is root on the machine"),
  ],
  ["securityContext.seLinuxOptions", (c) => ifGiven(c.securityContext?.seLinuxOptions, NO_SELINUX)],
  ["securityContext.windowsOptions", (c) => ifGiven(c.securityContext?.windowsOptions, NO_WINDOWS)],
  [
    "securityContext.procMount",
    (c) => unless((c.securityContext?.procMount ?? "Default") === "Default", "/proc is always masked"),
  ],
  [
    "securityContext.seccompProfile",
    (c) => profile(c.securityContext?.seccompProfile, SECCOMP, NO_LOCALHOST),
  ],
  ["securityContext.capabilities.add", (c) => unknownCapability(c.securityContext?.capabilities?.add ?? [])],
  ["lifecycle.postStart", (c) => handler(c.lifecycle?.postStart)],
  ["lifecycle.preStop", (c) => handler(c.lifecycle?.preStop)],
  [
    "lifecycle.stopSignal",
    ({ lifecycle }: { lifecycle?: Lifecycle }) =>
      unless(signalNumber(lifecycle?.stopSignal || "SIGTERM") !== undefined, "Linux has no such signal"),
  ],
  ["resources.claims", (c) => ifGiven(c.resources?.claims, NO_DEVICES)],
  ["tty", (c) => unless(c.tty !== true, "containers have no terminal")],
  ["stdin", (c) => unless(c.stdin !== true, "containers have no standard input")],
  ...(["livenessProbe", "readinessProbe", "startupProbe"] as const).map(
    (name) =>
      [`${name}.grpc`, (c: Container) => ifGiven(c[name]?.grpc, "use exec, httpGet or tcpSocket")] as const,
  ),
  ...(["livenessProbe", "startupProbe"] as const).map(
    (name) =>
      [
        `${name}.terminationGracePeriodSeconds`,
        (c: Container) => ifGiven(c[name]?.terminationGracePeriodSeconds, "use the pod's"),
      ] as const,
  ),
  ["restartPolicyRules", (c: Newer) => ifGiven(c.restartPolicyRules, "use the pod's restartPolicy")],
  [
    "env",
    (c) =>
      unless(
        !c.env?.some(({ valueFrom }) => given((valueFrom as { fileKeyRef?: object })?.fileKeyRef)),
        "fileKeyRef: files of a volume are not read for variables",
      ),
  ],
  [
    "ports",
    (c) =>
      unless(
        !c.ports?.some(
          ({ hostPort, containerPort, hostIP }) => hostIP || (hostPort || containerPort) !== containerPort,
        ),
        "pods have the machine's network: hostPort is the containerPort, and hostIP is not set",
      ),
  ],
  [
    "volumeMounts",
    (c) =>
      unless(
        (c.volumeMounts ?? []).every(({ mountPropagation = "None" }) => mountPropagation === "None"),
        "mounts do not spread between containers and the machine: mountPropagation must be None",
      ),
  ],
];

function cannotBeReadOnlyBelow({ volumeMounts }: Container): string[] {
  const index = (volumeMounts ?? []).findIndex(({ recursiveReadOnly }) => recursiveReadOnly === "Enabled");
  if (index < 0 || MOUNTS_READ_ONLY_BELOW) return [];
  return [`volumeMounts[${index}].recursiveReadOnly: needs Linux 5.12; use IfPossible`];
}

function unknownCapability(names: readonly string[]): string | undefined {
  const unknown = names.find((name) => name !== "ALL" && !CAPABILITIES.includes(name.replace(/^CAP_/, "")));
  return unknown === undefined ? undefined : `Linux has no capability ${unknown}`;
}

function handler(given: NonNullable<Container["lifecycle"]>["postStart"]): string | undefined {
  return unless(given === undefined || given === null || given.exec !== undefined, "only exec is supported");
}

function refusedVolumes({ volumes }: Spec): string[] {
  return (volumes ?? []).flatMap(({ emptyDir }, index) => {
    const { medium = "" } = emptyDir ?? {};
    const path = `volumes[${index}].emptyDir`;
    if ((medium ?? "") !== "" && medium !== "Memory") return [`${path}.medium: use Memory, or leave it out`];
    return [];
  });
}

/** A controller of control groups enforces limits of these. */
const CONTROLLED: readonly string[] = ["memory", "cpu"];
/** Measured: the kubelet evicts a pod that has more. */
const MEASURED = "ephemeral-storage";

function refusedLimits({ resources }: Container, controllers: ReadonlySet<string>): string[] {
  return Object.keys(resources?.limits ?? {}).flatMap((name) => {
    const path = `resources.limits[${name}]`;
    if (name === MEASURED) return [];
    if (!CONTROLLED.includes(name)) return [`${path}: this resource is not bounded here`];
    if (controllers.has(name)) return [];
    return [
      `${path}: this machine has no ${name} controller for control groups; mount it, or leave the limit out`,
    ];
  });
}

/** What a pod asks for and would not get, each with the path of its field. Nothing that is asked for is ignored. */
export function refusedFields(pod: Pod, container: Container, machine: MachineSupport): string[] {
  const { spec } = pod;
  if (spec === undefined) return [];
  const all = [
    ...apply(POD_RULES, spec),
    ...refusedVolumes(spec),
    ...refusedProfile(spec.securityContext?.appArmorProfile, machine.appArmor),
  ];
  const own = [
    ...apply(CONTAINER_RULES, container),
    ...cannotBeReadOnlyBelow(container),
    ...refusedLimits(container, machine.controllers),
    ...refusedProfile(container.securityContext?.appArmorProfile, machine.appArmor),
  ];
  const path = pathOf(spec, container);
  const { restartPolicy } = container;
  if (restartPolicy && path.startsWith("spec.containers")) own.push("restartPolicy: use the pod's");
  else if (restartPolicy && restartPolicy !== "Always")
    own.push("restartPolicy: use Always for a sidecar, else the pod's");
  const users = spec.hostUsers === false ? refusedUsers(container, machine) : { pod: [], own: [] };
  return [
    ...[...all, ...users.pod].map((text) => `spec.${text}`),
    ...[...own, ...users.own].map((text) => `${path}.${text}`),
    ...refusedAnnotation(pod, container),
  ];
}

/** As in Kubernetes, a pod with a user namespace has no raw volumes: a device's node cannot be shown as its user's. */
function refusedUsers(
  { volumeDevices }: Container,
  { noUserNamespaces }: MachineSupport,
): { pod: string[]; own: string[] } {
  return {
    pod: noUserNamespaces === undefined ? [] : [`hostUsers: ${noUserNamespaces}`],
    own: given(volumeDevices) ? ["volumeDevices: raw volumes need hostUsers: true"] : [],
  };
}

type AppArmorProfile = NonNullable<Container["securityContext"]>["appArmorProfile"];

/** As in Kubernetes, a profile that cannot be enforced keeps the pod from running, also the runtime's own. */
function refusedProfile(asked: AppArmorProfile, { enabled, profiles, canLoad }: AppArmor): string[] {
  const { type = "Unconfined", localhostProfile = "" } = asked ?? {};
  const refuse = (why: string) => [`securityContext.appArmorProfile: cannot enforce AppArmor: ${why}`];
  if (type === "Unconfined") return [];
  if (!enabled) return refuse("AppArmor is not enabled on the host");
  if (type === "Localhost" && !profiles.has(localhostProfile))
    return refuse(`profile "${localhostProfile}" is not loaded; load it with apparmor_parser`);
  if (type === "RuntimeDefault" && !canLoad)
    return refuse("apparmor_parser is missing: apt-get install apparmor");
  return [];
}

const APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/";

/** What the field was before there was one; the field wins. */
function refusedAnnotation({ metadata, spec }: Pod, { name, securityContext }: Container): string[] {
  const key = `${APP_ARMOR}${name}`;
  const asked = metadata.annotations?.[key] ?? "unconfined";
  const field = securityContext?.appArmorProfile ?? spec?.securityContext?.appArmorProfile;
  if (asked === "unconfined" || given(field)) return [];
  return [`metadata.annotations[${key}]: use securityContext.appArmorProfile`];
}

function apply<T>(rules: readonly Rule<T>[], owner: T): string[] {
  return rules.flatMap(([path, refuse]) => {
    const reason = refuse(owner);
    return reason === undefined ? [] : [`${path}: ${reason}`];
  });
}

/** Of a container in its pod: `spec.initContainers[0]`. */
export function pathOf(spec: Spec, { name }: Container): string {
  const init = (spec.initContainers ?? []).findIndex((each) => each.name === name);
  if (init >= 0) return `spec.initContainers[${init}]`;
  return `spec.containers[${spec.containers.findIndex((each) => each.name === name)}]`;
}
