import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import type { Pod } from "@mooring/store";
import { defined } from "@mooring/store";
import { eventually, sample } from "@mooring/store/testing";
import { KUBECTL } from "../support/kubectl.ts";
import { world } from "../support/world.ts";
import { ATTEMPTS, IMPERSONATED, IMPOSTOR } from "./attempts.ts";
import { attackersImage } from "./image.ts";

const CORE_PATTERN = "/proc/sys/kernel/core_pattern";
const corePattern = await readFile(CORE_PATTERN, "utf8");
after(async () => {
  if ((await readFile(CORE_PATTERN, "utf8")) !== corePattern) await writeFile(CORE_PATTERN, corePattern);
});

const { up, kubectl, shows } = await world();
const IMAGE = await mkdtemp(join(tmpdir(), "attackers-image-"));
await attackersImage(IMAGE);
const image = await filesOf(IMAGE);
after(() => rm(IMAGE, { recursive: true, force: true }));

/** Every name in a folder, with what shows whether it was written to. */
async function filesOf(folder: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)("find", [folder, "-printf", "%p %u %s %T@\\n"]);
  return stdout.split("\n").sort();
}

type Spec = NonNullable<Pod["spec"]>;
type Container = Spec["containers"][number];

/** Every way by which a command of a pod comes to run. */
const WAYS = ["init", "sidecar", "start", "hook", "probe"] as const;

interface Kind {
  name: string;
  /** Default the machine's own root. */
  image?: string;
  /** False: its users are others on the machine. */
  hostUsers?: false;
  securityContext?: Container["securityContext"];
  /** Programs of the machine that the pod mounts its own over. */
  impersonated: readonly string[];
  /** What the attempts measure themselves against. */
  allowed: { capabilities: string; user: string; noNewPrivileges: string };
}

const RESTRICTED: Omit<Kind, "name" | "impersonated"> = {
  securityContext: {
    runAsNonRoot: true,
    runAsUser: 1000,
    runAsGroup: 1000,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
  },
  allowed: { capabilities: "0", user: "1000:1000", noNewPrivileges: "1" },
};
const DEFAULT: Omit<Kind, "name" | "impersonated"> = {
  allowed: { capabilities: "a80425fb", user: "0:0", noNewPrivileges: "0" },
};
const KINDS: readonly Kind[] = [
  // Kubernetes' fourteen: what container runtimes leave to root.
  { name: "default", impersonated: [], ...DEFAULT },
  { name: "own-users", hostUsers: false, impersonated: [], ...DEFAULT },
  { name: "image", image: `dir:${IMAGE}`, impersonated: [], ...DEFAULT },
  { name: "restricted-image", image: `dir:${IMAGE}`, impersonated: [], ...RESTRICTED },
  { name: "own-users-image", image: `dir:${IMAGE}`, hostUsers: false, impersonated: [], ...DEFAULT },
  { name: "restricted", impersonated: [], ...RESTRICTED },
  { name: "impostor", impersonated: IMPERSONATED, ...RESTRICTED },
];

await kubectl.apply(
  JSON.stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "attack", namespace: "default" },
    data: {
      attempts: ATTEMPTS,
      impostor: IMPOSTOR,
      passwd: "evil:x:1000:0::/:/bin/sh\nevil:x:0:0::/:/bin/sh\n",
    },
  }),
);

function container(kind: Kind, name: string, way: string): Container {
  const variables = {
    WAY: way,
    ALLOWED_CAPABILITIES: kind.allowed.capabilities,
    ALLOWED_USER: kind.allowed.user,
    LEAST_NO_NEW_PRIVILEGES: kind.allowed.noNewPrivileges,
    STATE_FOLDER: up.stateDir,
    OWN_LAYER: kind.image === undefined ? "" : "1",
    SECRETS: `${up.stateDir}/* /etc/ssh/*_key /etc/ssl/private/* /etc/gshadow- /var/backups/*`,
  };
  return {
    name,
    image: kind.image ?? "host",
    command: ["sh", "/attempts/run"],
    env: Object.entries(variables).map(([key, value]) => ({ name: key, value })),
    volumeMounts: [
      { name: "out", mountPath: "/out" },
      { name: "attempts", mountPath: "/attempts" },
      { name: "passwd", mountPath: "/etc/passwd", subPath: "passwd" },
      ...kind.impersonated.map((mountPath) => ({ name: "impostor", mountPath, subPath: "impostor" })),
    ],
    ...defined({ securityContext: kind.securityContext }),
  };
}

/** Runs the attempts on every way; the main container prints what came of them. */
function attackPod(kind: Kind): Pod {
  const attempt = (way: string) => `sh /attempts/run >/out/${way}.new 2>&1; mv /out/${way}.new /out/${way}`;
  const main = container(kind, "main", "start");
  const all = WAYS.map((way) => `/out/${way}`).join(" ");
  const wait = `for each in ${all}; do until [ -e $each ]; do sleep 0.1; done; done`;
  const report = `cd /out; for each in *; do sed "s|^|$each |" "$each"; done`;
  const probe = `[ -e /out/probe ] || { ${attempt("probe")}; }`;
  const forever = "trap 'exit 0' TERM; while :; do sleep 0.1; done";
  const config = (mode: number, key: string, path: string) => ({
    configMap: { name: "attack", defaultMode: mode, items: [{ key, path }] },
  });
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: kind.name, namespace: "default" },
    spec: {
      restartPolicy: "Never",
      ...defined({ hostUsers: kind.hostUsers }),
      terminationGracePeriodSeconds: 2,
      initContainers: [
        { ...container(kind, "init", "init"), command: ["sh", "-c", attempt("init")] },
        {
          ...container(kind, "sidecar", "sidecar"),
          restartPolicy: "Always",
          command: ["sh", "-c", `${attempt("sidecar")}; ${forever}`],
        },
      ],
      containers: [
        {
          ...main,
          command: ["sh", "-c", `${attempt("start")}; ${wait}; ${report}; echo reported; ${forever}`],
          lifecycle: { postStart: { exec: { command: ["sh", "-c", attempt("hook")] } } },
          readinessProbe: { exec: { command: ["sh", "-c", probe] }, periodSeconds: 1, timeoutSeconds: 30 },
        },
      ],
      volumes: [
        { name: "out", emptyDir: {} },
        { name: "attempts", ...config(0o555, "attempts", "run") },
        { name: "impostor", ...config(0o555, "impostor", "impostor") },
        { name: "passwd", ...config(0o444, "passwd", "passwd") },
      ],
    },
  };
}

for (const kind of sample(KINDS, { everyday: 1 })) {
  test(`a ${kind.name} pod gets out of its containers by no attempt, on no way that its commands are run`, async () => {
    await kubectl.apply(JSON.stringify(attackPod(kind)));
    await shows(["pod", kind.name], "{.status.phase}", "Running");
    const log = await findings(kind.name);
    const lines = log.split("\n").filter((line) => line !== "" && line !== "reported");
    assert.deepEqual(
      lines.filter((line) => !line.endsWith(" held")),
      [],
    );
    const attempts = (way: string) => lines.filter((line) => line.startsWith(`${way} `)).length;
    const count = attempts("start");
    assert.ok(count > 20, log);
    for (const way of WAYS) assert.equal(attempts(way), count, `${way}\n${log}`);
    for (const [way, found] of [
      ["exec", await byExec(kind.name)],
      ["terminal", await onTerminal(kind.name)],
    ] as const) {
      assert.deepEqual(
        found.filter((line) => !line.endsWith(" held")),
        [],
        way,
      );
      assert.equal(found.length, count, `${way}\n${found.join("\n")}`);
    }
    await kubectl.run("delete", "pod", kind.name, "--wait=false");
  });
}

const AGAIN = ["-c", "main", "--", "sh", "/attempts/run"];
// A terminal that kubectl has not made raw yet, or not any more, adds a return to that of the pod's.
const linesOf = (output: string) => output.split(/\r*\n/).filter((line) => line !== "");

/** The attempts of a user who was let in by `kubectl exec`. */
async function byExec(pod: string): Promise<string[]> {
  return linesOf(await kubectl.run("exec", pod, ...AGAIN));
}

/** The same on a terminal; `script` gives kubectl one of its own. */
async function onTerminal(pod: string): Promise<string[]> {
  const command = [KUBECTL, "--kubeconfig", up.kubeconfig, "exec", "-t", "-i", pod, ...AGAIN].join(" ");
  const { stdout } = await promisify(execFile)("script", ["-qec", command, "/dev/null"]);
  return linesOf(stdout);
}

async function findings(pod: string): Promise<string> {
  const read = () => kubectl.run("logs", pod, "-c", "main").catch(() => "");
  const whole = async () => {
    const log = await read();
    return log.endsWith("reported\n") && log;
  };
  return eventually("the pod's report of what it found", whole, { everyMs: 200, lastSeen: read });
}

test("what the attempts could write is as it was", async () => {
  assert.deepEqual(await filesOf(IMAGE), image);
  assert.equal(await readFile(CORE_PATTERN, "utf8"), corePattern);
});
