import { procMount, unlessOwnUsers } from "./baseline.ts";
import type { Control } from "./control.ts";
import { containerNames, fieldsOf, listOf, named, type PodFacts, quoted, textsOf, unique } from "./pod.ts";

const VOLUMES = new Set([
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
]);

function volumes({ spec }: PodFacts): string | undefined {
  const typeOf = (volume: Record<string, unknown>) =>
    Object.keys(volume).find((field) => field !== "name" && volume[field] !== undefined) ?? "unknown";
  const wrong = listOf(spec, "volumes").filter((volume) => !VOLUMES.has(typeOf(volume)));
  if (wrong.length === 0) return undefined;
  const types = unique(wrong.map(typeOf)).sort();
  const names = wrong.map(({ name }) => String(name));
  const verb = names.length === 1 ? "uses" : "use";
  return `restricted volume types (${named("volume", names)} ${verb} restricted volume type${types.length === 1 ? "" : "s"} ${quoted(types)})`;
}

function privilegeEscalation({ containers }: PodFacts): string | undefined {
  const wrong = containers.filter(({ security }) => security.allowPrivilegeEscalation !== false);
  return wrong.length === 0
    ? undefined
    : `allowPrivilegeEscalation != false (${containerNames(wrong)} must set securityContext.allowPrivilegeEscalation=false)`;
}

function runAsNonRoot({ security, containers }: PodFacts): string | undefined {
  const explicit = containers.filter((container) => container.security.runAsNonRoot === false);
  const silent = containers.filter((container) => container.security.runAsNonRoot === undefined);
  const podWrong = security.runAsNonRoot === false;
  const left = security.runAsNonRoot === true ? [] : silent;
  if (podWrong || explicit.length > 0) {
    const containers = explicit.length === 0 ? "" : containerNames(explicit);
    const who = [podWrong ? "pod" : "", containers].filter(Boolean).join(" and ");
    return `runAsNonRoot != true (${who} must not set securityContext.runAsNonRoot=false)`;
  }
  return left.length === 0
    ? undefined
    : `runAsNonRoot != true (pod or ${containerNames(left)} must set securityContext.runAsNonRoot=true)`;
}

function runAsUser({ security, containers }: PodFacts): string | undefined {
  const wrong = containers.filter((container) => container.security.runAsUser === 0);
  const who = [security.runAsUser === 0 ? "pod" : "", wrong.length === 0 ? "" : containerNames(wrong)].filter(
    Boolean,
  );
  return who.length === 0 ? undefined : `runAsUser=0 (${who.join(" and ")} must not set runAsUser=0)`;
}

function seccomp({ security, containers }: PodFacts): string | undefined {
  const typeOf = (context: Record<string, unknown>) => fieldsOf(context, "seccompProfile").type;
  const fine = (type: unknown) => type === "RuntimeDefault" || type === "Localhost";
  const pod = typeOf(security);
  const explicit = containers.filter(({ security: own }) => {
    const type = typeOf(own);
    return type !== undefined && !fine(type);
  });
  const silent = containers.filter(({ security: own }) => typeOf(own) === undefined);
  const podWrong = pod !== undefined && !fine(pod);
  if (explicit.length > 0 || podWrong) {
    const who = [podWrong ? "pod" : "", explicit.length > 0 ? containerNames(explicit) : ""].filter(Boolean);
    const types = unique(
      [...(podWrong ? [pod] : []), ...explicit.map((each) => typeOf(each.security))].map(String),
    );
    return `seccompProfile (${who.join(" and ")} must not set securityContext.seccompProfile.type to ${quoted(types.sort())})`;
  }
  if (fine(pod) || silent.length === 0) return undefined;
  return `seccompProfile (pod or ${containerNames(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`;
}

function capabilities({ containers }: PodFacts): string | undefined {
  const listed = (security: Record<string, unknown>, field: string) =>
    textsOf(fieldsOf(security, "capabilities"), field);
  const extra = (security: Record<string, unknown>) =>
    listed(security, "add").filter((name) => name !== "NET_BIND_SERVICE");
  const keeping = containers.filter(({ security }) => !listed(security, "drop").includes("ALL"));
  const adding = containers.filter(({ security }) => extra(security).length > 0);
  const details = [
    keeping.length === 0
      ? ""
      : `${containerNames(keeping)} must set securityContext.capabilities.drop=["ALL"]`,
    adding.length === 0
      ? ""
      : `${containerNames(adding)} must not include ${quoted(unique(adding.flatMap(({ security }) => extra(security))).sort())} in securityContext.capabilities.add`,
  ].filter(Boolean);
  return details.length === 0 ? undefined : `unrestricted capabilities (${details.join("; ")})`;
}

const unlessWindows =
  (check: (pod: PodFacts) => string | undefined) =>
  (pod: PodFacts, minor: number): string | undefined =>
    pod.windows && minor >= 25 ? undefined : check(pod);

/** What today's hardening asks for. */
export const RESTRICTED: readonly Control[] = [
  { id: "allowPrivilegeEscalation", since: 8, check: unlessWindows(privilegeEscalation) },
  {
    id: "capabilities_restricted",
    since: 22,
    replaces: ["capabilities_baseline"],
    check: unlessWindows(capabilities),
  },
  { id: "restrictedVolumes", since: 0, replaces: ["hostPathVolumes"], check: volumes },
  { id: "procMount", since: 0, replaces: ["procMount"], check: procMount },
  { id: "runAsNonRoot", since: 0, check: unlessOwnUsers(runAsNonRoot) },
  { id: "runAsUser", since: 23, check: unlessOwnUsers(runAsUser) },
  {
    id: "seccompProfile_restricted",
    since: 19,
    replaces: ["seccompProfile_baseline"],
    check: unlessWindows(seccomp),
  },
];
