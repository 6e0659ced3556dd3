import { aClaim, aPod, withContainer, withSpec } from "./objects.ts";
import type { Situation } from "./situation.ts";

const labels = { app: "web" };
const template = (of: { spec?: object }): object => ({ metadata: { labels }, spec: of.spec });
export const forever = (of: ReturnType<typeof aPod>): { spec?: object } => ({
  spec: { ...of.spec, restartPolicy: "Always" },
});

/** An object of `apps/v1` whose pods are like this one. */
export const aSet = (kind: string, name: string, of: { spec?: object }, fields: object = {}): object => ({
  ...{ apiVersion: "apps/v1", kind },
  metadata: { name, namespace: "here" },
  spec: { replicas: 2, selector: { matchLabels: labels }, template: template(of), ...fields },
});

export const aJob = (name: string, script: string): object => ({
  ...{ apiVersion: "batch/v1", kind: "Job" },
  metadata: { name, namespace: "here" },
  spec: { backoffLimit: 0, template: template(aPod("main", script, {}, "Never")) },
});

export const WORKLOADS: readonly Situation[] = [
  {
    name: "a StatefulSet whose claims name a class that nobody has made",
    objects: [
      aSet("StatefulSet", "db", forever(aPod("db", undefined, { "/data": "data" })), {
        serviceName: "db",
        volumeClaimTemplates: [aClaim("data", { className: "gold" })],
      }),
    ],
    target: "sts/db",
    cause: /StatefulSet \S+\/db: 0 of 2 pods are ready[\s\S]*StorageClass gold does not exist/,
    next: /create StorageClass gold/,
    doctor: /StatefulSet \S+\/db +(fail|warn) +PersistentVolumeClaim \S+\/data-db-0: StorageClass gold/,
  },
  {
    name: "a StatefulSet whose claims are larger than the pool",
    objects: [
      aSet("StatefulSet", "db", forever(aPod("db", undefined, { "/data": "data" })), {
        serviceName: "db",
        volumeClaimTemplates: [aClaim("data", { size: "100Ti" })],
      }),
    ],
    target: "sts/db",
    cause: /StatefulSet \S+\/db: 0 of 2 pods are ready[\s\S]*no pool has room for a volume of 100 TiB/,
    next: /ask for less in its StatefulSet, .*: kubectl edit sts -n \S+ db, kubectl delete -n \S+ pvc\/data-db-0 pod\/db-0/,
    doctor: /StatefulSet \S+\/db +(fail|warn) +PersistentVolumeClaim \S+\/data-db-0: .*no pool has room/,
  },
  {
    name: "a Deployment whose program does not exist",
    objects: [aSet("Deployment", "web", forever(withProgram("/no/such/program")))],
    target: "deployment/web",
    cause: /Deployment \S+\/web: 0 of 2 pods are ready[\s\S]*container main: .*no such file or directory/,
    next: /correct its (image, )?command/,
    doctor: /Deployment \S+\/web +fail +container main: .*no such file or directory/,
  },
  {
    name: "a Deployment whose pods are refused",
    objects: [],
    breaks: async ({ kubectl, namespace }) => {
      const label = "pod-security.kubernetes.io/enforce=restricted";
      await kubectl.run("label", "namespace", namespace, label);
      const object = aSet("Deployment", "web", forever(aPod("web")));
      await kubectl.apply(JSON.stringify({ ...object, metadata: { name: "web", namespace } }));
    },
    target: "deploy/web",
    cause: /ReplicaSet \S+\/web-\S+: 0 of 2 pods are ready: FailedCreate: .*violates PodSecurity/,
    next: /put right what it says, .*kubectl describe replicaset -n \S+ web-/,
    doctor: /Deployment \S+\/web +fail +ReplicaSet \S+: .*violates PodSecurity/,
  },
  {
    name: "a Job that has failed",
    objects: [aJob("once", "exit 4")],
    target: "job/once",
    cause: /Job \S+\/once: has failed: BackoffLimitExceeded[\s\S]*container main: ended with exit code 4/,
    next: /kubectl logs -n \S+ once-\S+ -c main/,
    doctor: /Job \S+\/once +fail +container main: ended with exit code 4/,
  },
  {
    name: "a Deployment that was paused before it began",
    objects: [aSet("Deployment", "web", forever(aPod("web")), { paused: true })],
    target: "deploy/web",
    cause: /Deployment \S+\/web: .*is paused/,
    next: /kubectl rollout resume -n \S+ deployment\/web/,
  },
  {
    name: "a StatefulSet whose pod's name somebody else's pod has",
    objects: [
      { ...aPod("db-0"), metadata: { name: "db-0", namespace: "here", labels: { app: "other" } } },
      aSet("StatefulSet", "db", forever(aPod("db")), { serviceName: "db" }),
    ],
    target: "sts/db",
    cause: /pod db-0 is somebody else's/,
    next: /kubectl describe pod -n \S+ db-0/,
  },
  {
    name: "a Job that was ended by its deadline",
    objects: [
      withSpec(aJob("late", "exec sleep infinity") as { spec: object }, { activeDeadlineSeconds: 1 }),
    ],
    target: "job/late",
    cause: /Job \S+\/late: has failed: DeadlineExceeded: Job was active longer than specified deadline$/m,
    next: /delete it, and create it again: kubectl delete job -n \S+ late/,
  },
];

function withProgram(path: string): ReturnType<typeof aPod> {
  return withContainer(aPod("web"), { command: [path] }) as ReturnType<typeof aPod>;
}
