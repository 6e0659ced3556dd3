import type { Control } from "./control.ts";
import {
  containerNames,
  fieldsOf,
  listOf,
  named,
  type PodContainer,
  type PodFacts,
  quoted,
  textsOf,
  unique,
} from "./pod.ts";

const DEFAULT_CAPABILITIES = new Set([
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
]);

function capabilities({ containers }: PodFacts): string | undefined {
  const wrong = containers.filter(({ security }) => added(security).length > 0);
  if (wrong.length === 0) return undefined;
  const names = unique(wrong.flatMap(({ security }) => added(security))).sort();
  return `non-default capabilities (${containerNames(wrong)} must not include ${quoted(names)} in securityContext.capabilities.add)`;
}

const added = (security: Record<string, unknown>) =>
  textsOf(fieldsOf(security, "capabilities"), "add").filter((name) => !DEFAULT_CAPABILITIES.has(name));

function hostNamespaces({ spec }: PodFacts): string | undefined {
  const used = ["hostNetwork", "hostPID", "hostIPC"].filter((field) => spec[field] === true);
  return used.length === 0
    ? undefined
    : `host namespaces (${used.map((field) => `${field}=true`).join(", ")})`;
}

function hostPath({ spec }: PodFacts): string | undefined {
  const names = listOf(spec, "volumes").filter(({ hostPath }) => hostPath !== undefined);
  return names.length === 0
    ? undefined
    : `hostPath volumes (${named(
        "volume",
        names.map(({ name }) => String(name)),
      )})`;
}

/** Not of Kubernetes, which has no such images: their name leads to any folder of the machine, as a hostPath does. */
function imageFolders({ containers }: PodFacts): string | undefined {
  const wrong = containers.filter(({ fields }) => /^(?:dir|oci):/.test(String(fields.image)));
  if (wrong.length === 0) return undefined;
  const names = named(
    "container",
    wrong.map(({ name }) => name),
  );
  return `images of the machine's folders (${names} must not use images that begin with "dir:" or "oci:")`;
}

function hostPorts({ containers }: PodFacts): string | undefined {
  const portsOf = (fields: Record<string, unknown>) =>
    listOf(fields, "ports")
      .map(({ hostPort }) => Number(hostPort ?? 0))
      .filter((port) => port !== 0);
  const wrong = containers.filter(({ fields }) => portsOf(fields).length > 0);
  if (wrong.length === 0) return undefined;
  const ports = [...new Set(wrong.flatMap(({ fields }) => portsOf(fields)))].sort((a, b) => a - b);
  const verb = wrong.length === 1 ? "uses" : "use";
  return `hostPort (${containerNames(wrong)} ${verb} hostPort${ports.length === 1 ? "" : "s"} ${ports.join(", ")})`;
}

function hostProcess({ security, containers }: PodFacts): string | undefined {
  const is = (context: Record<string, unknown>) => fieldsOf(context, "windowsOptions").hostProcess === true;
  const wrong = containers.filter((container) => is(container.security));
  if (wrong.length === 0 && !is(security)) return undefined;
  const who = [is(security) ? "pod" : "", wrong.length === 0 ? "" : containerNames(wrong)].filter(Boolean);
  return `hostProcess (${who.join(" and ")} must not set securityContext.windowsOptions.hostProcess=true)`;
}

/** Since 1.34: a probe of another host makes the kubelet an attacker's tool. */
function probeHosts({ containers }: PodFacts): string | undefined {
  const wrong = containers.filter(({ fields }) => hostsOf(fields).length > 0);
  if (wrong.length === 0) return undefined;
  const hosts = unique(wrong.flatMap(({ fields }) => hostsOf(fields))).sort();
  const verb = wrong.length === 1 ? "uses" : "use";
  const noun = hosts.length === 1 ? "host" : "hosts";
  return `probe or lifecycle host (${containerNames(wrong)} ${verb} probe or lifecycle ${noun} ${quoted(hosts)})`;
}

function hostsOf(container: Record<string, unknown>): string[] {
  const probes = ["livenessProbe", "readinessProbe", "startupProbe"].map((name) => fieldsOf(container, name));
  const hooks = ["postStart", "preStop"].map((name) => fieldsOf(fieldsOf(container, "lifecycle"), name));
  return [...probes, ...hooks]
    .flatMap((handler) => ["httpGet", "tcpSocket"].map((kind) => fieldsOf(handler, kind).host))
    .filter(Boolean)
    .map(String);
}

function privileged({ containers }: PodFacts): string | undefined {
  const wrong = containers.filter(({ security }) => security.privileged === true);
  return wrong.length === 0
    ? undefined
    : `privileged (${containerNames(wrong)} must not set securityContext.privileged=true)`;
}

/** Baseline: only the default `/proc` mount. */
export function procMount({ containers }: PodFacts): string | undefined {
  const wrong = containers.filter(
    ({ security }) => !["Default", undefined].includes(asText(security.procMount)),
  );
  if (wrong.length === 0) return undefined;
  const types = unique(wrong.map(({ security }) => String(security.procMount))).sort();
  return `procMount (${containerNames(wrong)} must not set securityContext.procMount to ${quoted(types)})`;
}

const asText = (value: unknown) => (value === undefined ? undefined : String(value));

function seLinux(types: readonly string[]) {
  return ({ security, containers }: PodFacts): string | undefined => {
    const wrongIn = (context: Record<string, unknown>) => {
      const { type = "", user = "", role = "" } = fieldsOf(context, "seLinuxOptions");
      return [
        types.includes(String(type)) ? "" : `type ${JSON.stringify(type)}`,
        user === "" ? "" : "user may not be set",
        role === "" ? "" : "role may not be set",
      ].filter(Boolean);
    };
    const wrong = containers.filter((container) => wrongIn(container.security).length > 0);
    const details = unique([security, ...wrong.map((container) => container.security)].flatMap(wrongIn));
    if (details.length === 0) return undefined;
    const who = [
      wrongIn(security).length > 0 ? "pod" : "",
      wrong.length === 0 ? "" : containerNames(wrong),
    ].filter(Boolean);
    return `seLinuxOptions (${who.join(" and ")} set forbidden securityContext.seLinuxOptions: ${details.join("; ")})`;
  };
}

const SE_LINUX = ["", "container_t", "container_init_t", "container_kvm_t"];

function seccomp({ security, containers }: PodFacts): string | undefined {
  const unconfined = (context: Record<string, unknown>) =>
    fieldsOf(context, "seccompProfile").type === "Unconfined";
  const wrong = containers.filter((container) => unconfined(container.security));
  const who = [unconfined(security) ? "pod" : "", wrong.length === 0 ? "" : containerNames(wrong)].filter(
    Boolean,
  );
  return who.length === 0
    ? undefined
    : `seccompProfile (${who.join(" and ")} must not set securityContext.seccompProfile.type to "Unconfined")`;
}

const SECCOMP_NOTE = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_NOTES = "container.seccomp.security.alpha.kubernetes.io/";

/** Before 1.19 the profile was an annotation. */
function seccompNotes({ annotations }: PodFacts): string | undefined {
  const wrong = Object.entries(annotations).filter(
    ([key, value]) =>
      (key === SECCOMP_NOTE || key.startsWith(SECCOMP_NOTES)) &&
      !["runtime/default", "docker/default", ""].includes(String(value)) &&
      !String(value).startsWith("localhost/"),
  );
  return wrong.length === 0
    ? undefined
    : `seccompProfile (forbidden ${named(
        "annotation",
        wrong.map(([key, value]) => `${key}: ${String(value)}`),
      )})`;
}

const SYSCTLS: readonly (readonly [since: number, names: readonly string[]])[] = [
  [
    0,
    [
      "kernel.shm_rmid_forced",
      "net.ipv4.ip_local_port_range",
      "net.ipv4.tcp_syncookies",
      "net.ipv4.ping_group_range",
      "net.ipv4.ip_unprivileged_port_start",
    ],
  ],
  [27, ["net.ipv4.ip_local_reserved_ports"]],
  [
    29,
    [
      "net.ipv4.tcp_keepalive_time",
      "net.ipv4.tcp_fin_timeout",
      "net.ipv4.tcp_keepalive_intvl",
      "net.ipv4.tcp_keepalive_probes",
    ],
  ],
  [32, ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"]],
];

function sysctls({ security }: PodFacts, minor: number): string | undefined {
  const allowed = SYSCTLS.filter(([since]) => minor >= since).flatMap(([, names]) => names);
  const wrong = listOf(security, "sysctls")
    .map(({ name }) => String(name))
    .filter((name) => !allowed.includes(name));
  return wrong.length === 0 ? undefined : `forbidden sysctls (${unique(wrong).join(", ")})`;
}

const APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/";

const isAppArmor = (type: string | undefined) =>
  type === undefined || type === "RuntimeDefault" || type === "Localhost";

/** The type of a container's own profile, or of the annotation that had it before there was a field. */
function appArmorType({ name, security }: PodContainer, annotations: Record<string, unknown>) {
  const old = annotations[APP_ARMOR + name];
  return (
    asText(fieldsOf(security, "appArmorProfile").type) ?? (old === "unconfined" ? "Unconfined" : undefined)
  );
}

function appArmor({ security, containers, annotations }: PodFacts): string | undefined {
  const podType = asText(fieldsOf(security, "appArmorProfile").type);
  const types = containers.map((container) => appArmorType(container, annotations));
  const wrong = containers.filter((_, index) => !isAppArmor(types[index]));
  const notes = Object.entries(annotations).filter(
    ([key, value]) =>
      key.startsWith(APP_ARMOR) &&
      !["", "runtime/default"].includes(String(value)) &&
      !String(value).startsWith("localhost/"),
  );
  const who = [
    isAppArmor(podType) ? "" : "pod",
    wrong.length === 0 ? "" : containerNames(wrong),
    notes.length === 0 ? "" : notes.length === 1 ? "annotation" : "annotations",
  ].filter(Boolean);
  if (who.length === 0) return undefined;
  const bad = unique([podType, ...types].filter((type) => !isAppArmor(type)).map(String)).sort();
  const all = [...bad.map((type) => `"${type}"`), ...notes.map(([key, value]) => `"${key}="${value}""`)];
  return `forbidden AppArmor profile${all.length === 1 ? "" : "s"} (${who.join(" and ")} must not set AppArmor profile type to ${all.join(", ")})`;
}

/** Since 1.35: what a container may do to user ids of its own is no matter. */
export function unlessOwnUsers(check: Control["check"]): Control["check"] {
  return (pod, minor) => (pod.ownUsers && minor >= 35 ? undefined : check(pod, minor));
}

/** Forbid what leads out of the container by a known way. */
export const BASELINE: readonly Control[] = [
  { id: "appArmorProfile", since: 0, check: appArmor },
  { id: "capabilities_baseline", since: 0, check: capabilities },
  { id: "hostNamespaces", since: 0, check: hostNamespaces },
  { id: "hostPathVolumes", since: 0, check: hostPath },
  { id: "hostPathVolumes_images", since: 0, check: imageFolders },
  { id: "hostPorts", since: 0, check: hostPorts },
  { id: "hostProbesAndhostLifecycle", since: 34, check: probeHosts },
  { id: "privileged", since: 0, check: privileged },
  { id: "procMount", since: 0, check: unlessOwnUsers(procMount) },
  { id: "seLinuxOptions", since: 0, until: 31, check: seLinux(SE_LINUX) },
  { id: "seLinuxOptions", since: 31, check: seLinux([...SE_LINUX, "container_engine_t"]) },
  { id: "seccompProfile_baseline", since: 0, until: 19, check: seccompNotes },
  { id: "seccompProfile_baseline", since: 19, check: seccomp },
  { id: "sysctls", since: 0, check: sysctls },
  { id: "windowsHostProcess", since: 0, check: hostProcess },
];
