import type { Pod } from "@mooring/store";
import type { Random } from "@mooring/store/testing";
import { PROGRAMS, SHORT_PROGRAMS, type Surroundings } from "./hostile-programs.ts";

type Spec = NonNullable<Pod["spec"]>;
type Container = Spec["containers"][number];
type Probe = NonNullable<Container["livenessProbe"]>;

/** In the variables of every process of theirs that has not changed them. */
export const MARK = "MOORING_HOSTILE";
/** A claim that they write to, too; a container that mounts it needs no other. */
export const CLAIM = "hostile";
export const SETTINGS = "hostile-settings";

const LARGEST = 2 ** 31 - 1;
const ODD = [
  "",
  "$(A)$(B)$$(C)",
  "\u202e",
  "\ud83d\ude00".repeat(50),
  "a\nb\tc",
  "%s%n",
  "`id`",
  "x".repeat(5_000),
];
const SUB_PATHS = ["sub", "sub/deeper", "deep/a/b", "\u00fc\u202e", "x".repeat(200), "."];

export interface Hostile {
  pod: Pod;
  /** What its containers do, to be shown. */
  does: string[];
}

/** A pod that a server takes, of which a kubelet has the most trouble. */
export function hostilePod(random: Random, name: string, surroundings: Surroundings): Hostile {
  const does: string[] = [];
  const made = (each: string) => container(random, each, does, surroundings);
  // Many that do little, or few that do much.
  const count = random.chance(0.2) ? random.between(15, 40) : random.between(1, 3);
  const containers =
    count > 3
      ? Array.from({ length: count }, (_, at) => small(random, `c${at}`))
      : Array.from({ length: count }, (_, at) => made(`c${at}`));
  if (count > 3) does.push(`${count} containers`);
  const init = random.chance(0.4) ? [linking(surroundings)] : [];
  const spec: Spec = {
    restartPolicy: random.one(["Always", "Always", "OnFailure", "Never"]),
    terminationGracePeriodSeconds: random.one([0, 1, 2, 1_000_000]),
    ...(random.chance(0.1) ? { activeDeadlineSeconds: random.between(1, 3) } : {}),
    ...(random.chance(0.2) ? { hostUsers: false } : {}),
    ...(random.chance(0.3) ? { securityContext: { fsGroup: random.between(1, 5_000) } } : {}),
    initContainers: init,
    containers,
    volumes: volumes(random),
  };
  const annotations = random.chance(0.3)
    ? Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`a${at}`, random.one(ODD).repeat(3)]))
    : {};
  return {
    pod: { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default", annotations }, spec },
    does,
  };
}

function container(random: Random, name: string, does: string[], surroundings: Surroundings): Container {
  const program = random.one(Object.keys(PROGRAMS));
  does.push(program);
  const script = PROGRAMS[program]?.(random, surroundings) ?? "";
  const lifecycle = {
    ...(random.chance(0.15) ? { postStart: { exec: { command: short(random) } } } : {}),
    ...(random.chance(0.3) ? { preStop: { exec: { command: short(random) } } } : {}),
  };
  return {
    ...{
      name,
      image: "host",
      command: ["sh", "-c", script],
      env: variables(random),
      volumeMounts: mounts(random),
    },
    ...{ lifecycle, ...probes(random, surroundings.port) },
    ...(random.chance(0.2) ? { terminationMessagePolicy: "FallbackToLogsOnError" } : {}),
    ...(random.chance(0.2)
      ? { terminationMessagePath: random.one(["/volume/message", "/x/y/\u00fc", "/dev/m"]) }
      : {}),
    ...(random.chance(0.3) ? { resources: { limits: { "ephemeral-storage": "5Mi" } } } : {}),
    ...(random.chance(0.3) ? { securityContext: { runAsUser: 1000, allowPrivilegeEscalation: false } } : {}),
  };
}

/** One of very many. */
function small(random: Random, name: string): Container {
  return {
    ...{
      name,
      image: "host",
      command: ["sh", "-c", random.one(["exit 1", "exec sleep 100000", "yes | head -c 1M"])],
    },
    ...(random.chance(0.5)
      ? { readinessProbe: { exec: { command: ["true"] }, periodSeconds: 1 } }
      : { readinessProbe: { tcpSocket: { port: 1 }, periodSeconds: 1 } }),
    env: [{ name: MARK, value: "1" }],
    volumeMounts: [{ name: "volume", mountPath: "/volume", subPath: random.one(SUB_PATHS) }],
  };
}

/** Leaves links in the place of what later containers mount. */
function linking({ victim }: Surroundings): Container {
  const script = `cd /volume && ln -s ${victim} sub; mkdir -p deep; ln -s ${victim} deep/a; ln -s . self; cd /claim && ln -sfn ${victim} sub; true`;
  return {
    ...{ name: "linking", image: "host", command: ["sh", "-c", script], env: [{ name: MARK, value: "1" }] },
    volumeMounts: [
      { name: "volume", mountPath: "/volume" },
      { name: "claim", mountPath: "/claim" },
    ],
  };
}

function volumes(random: Random): NonNullable<Spec["volumes"]> {
  const field = (fieldPath: string, path: string) => ({ fieldRef: { fieldPath }, path });
  return [
    { name: "volume", emptyDir: random.chance(0.2) ? { sizeLimit: "8Mi" } : {} },
    { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "8Mi" } },
    { name: "claim", persistentVolumeClaim: { claimName: CLAIM } },
    {
      name: "projected",
      projected: {
        sources: Array.from({ length: random.between(1, 30) }, (_, at) => ({
          downwardAPI: {
            items: [
              field("metadata.annotations", `annotations-${at}`),
              field("metadata.labels", `labels-${at}`),
            ],
          },
        })),
      },
    },
    { name: "settings", configMap: { name: SETTINGS } },
  ];
}

function mounts(random: Random): NonNullable<Container["volumeMounts"]> {
  const inside = Array.from({ length: random.below(6) }, (_, at) => ({
    ...{ name: random.one(["volume", "claim", "memory"]), mountPath: `/inside/${at}` },
    ...{ subPath: random.one(SUB_PATHS), readOnly: random.chance(0.2) },
  }));
  return [
    { name: random.chance(0.6) ? "volume" : "claim", mountPath: "/volume" },
    { name: "memory", mountPath: "/memory" },
    { name: "projected", mountPath: "/projected" },
    { name: "settings", mountPath: "/settings" },
    ...inside,
  ];
}

function variables(random: Random): NonNullable<Container["env"]> {
  const count = random.chance(0.2) ? 150 : random.below(5);
  const odd = Array.from({ length: count }, (_, at) => ({ name: `V${at}`, value: random.one(ODD) }));
  const impossible = random.chance(0.05) ? [{ name: "N", value: "a\u0000b" }] : [];
  return [{ name: MARK, value: "1" }, ...odd, ...impossible];
}

function probes(
  random: Random,
  port: number,
): Pick<Container, "livenessProbe" | "readinessProbe" | "startupProbe"> {
  return {
    ...(random.chance(0.4) ? { livenessProbe: probe(random, port) } : {}),
    ...(random.chance(0.6) ? { readinessProbe: probe(random, port) } : {}),
    ...(random.chance(0.2) ? { startupProbe: probe(random, port) } : {}),
  };
}

function probe(random: Random, port: number): Probe {
  const http = { port, path: random.one(["/", "/\u00fc?%00", "x".repeat(3_000)]), host: "127.0.0.1" };
  const how = random.one<Probe>([
    { exec: { command: short(random) } },
    { httpGet: http },
    { httpGet: { ...http, scheme: "HTTPS" } },
    { tcpSocket: { port, host: "127.0.0.1" } },
  ]);
  return {
    ...how,
    ...{ periodSeconds: random.one([0, 1, 1]), timeoutSeconds: random.one([0, 1, 2, LARGEST]) },
    ...{ failureThreshold: random.one([1, 2, LARGEST]), initialDelaySeconds: random.one([0, 0, 1]) },
  };
}

const short = (random: Random) => ["sh", "-c", random.one(SHORT_PROGRAMS)];
