import { untilBound } from "./bound.ts";
import { aClaim, aPod, withContainer, withFinalizer, withSpec } from "./objects.ts";
import type { Situation } from "./situation.ts";

const probe = (command: string) => ({
  exec: { command: ["sh", "-c", command] },
  periodSeconds: 1,
  failureThreshold: 1,
});

export const PODS: readonly Situation[] = [
  {
    name: "a command that does not exist",
    objects: [withContainer(aPod("web"), { command: ["/no/such/program"] })],
    target: "pod/web",
    cause: /container main: .*no such file or directory/,
    next: /correct its (image, )?command .*kubectl describe pod -n \S+ web/,
    doctor: /Pod \S+\/web +fail +container main: /,
  },
  {
    name: "a container that crashes again and again",
    objects: [aPod("web", "echo no configuration; exit 3")],
    target: "pod/web",
    cause: /container main: CrashLoopBackOff: ended \d+ times, the last time with exit code 3/,
    next: /kubectl logs -n \S+ web -c main --previous/,
    // It waits, runs, or has just ended, whenever doctor checks.
    doctor: /Pod \S+\/web +fail +container main: (CrashLoopBackOff|crashed \d+ times|ended with exit code 3)/,
  },
  {
    name: "a container that crashes, beside a claim that cannot grow",
    objects: [aClaim("data"), aPod("web", "exit 3", { "/data": "data" })],
    breaks: async (world) => {
      await untilBound(world);
      const grow = JSON.stringify({ spec: { resources: { requests: { storage: "100Ti" } } } });
      await world.kubectl.run("patch", "pvc", "data", "-n", world.namespace, "--type", "merge", "-p", grow);
    },
    target: "pod/web",
    cause:
      /container main: (CrashLoopBackOff: ended|crashed) \d+ times|container main: ended with exit code 3/,
    next: /ask for what the driver can do/,
    // Either is the pod's, and neither hides the other.
    doctor:
      /(?=[\s\S]*Pod NS\/web +fail +container main: )(?=[\s\S]*Pod NS\/web +fail +PersistentVolumeClaim NS\/data: )(?=[\s\S]*next: Pod NS\/web: kubectl logs )(?=[\s\S]*next: Pod NS\/web: ask for what)/,
  },
  {
    name: "a pod that has failed for good",
    objects: [aPod("job", "exit 7", {}, "Never")],
    target: "pod/job",
    cause: /container main: ended with exit code 7/,
    next: /kubectl logs -n \S+ job -c main/,
    doctor: /Pod \S+\/job +fail +container main: ended with exit code 7/,
  },
  {
    name: "a program that a signal has ended",
    objects: [aPod("job", "sleep 1000 & kill -9 $!; wait $!", {}, "Never")],
    target: "pod/job",
    cause: /container main: ended with exit code 137/,
    next: /kubectl logs -n \S+ job/,
  },
  {
    name: "an init container that fails",
    objects: [
      withSpec(aPod("web"), {
        initContainers: [{ name: "migrate", image: "host", command: ["sh", "-c", "echo no schema; exit 1"] }],
      }),
    ],
    target: "pod/web",
    cause: /container migrate: CrashLoopBackOff: ended \d+ times, the last time with exit code 1/,
    next: /kubectl logs -n \S+ web -c migrate --previous/,
  },
  {
    name: "a readiness probe that does not pass",
    objects: [withContainer(aPod("web"), { readinessProbe: probe("exit 1") })],
    target: "pod/web",
    cause: /container main: runs, but is not ready: its readiness probe does not pass/,
    next: /kubectl describe pod -n \S+ web/,
  },
  {
    name: "a startup probe that does not pass yet",
    objects: [withContainer(aPod("web"), { startupProbe: { ...probe("exit 1"), failureThreshold: 1000 } })],
    target: "pod/web",
    cause: /container main: runs, but is not ready: its startup probe does not pass/,
    next: /kubectl describe pod -n \S+ web/,
  },
  {
    name: "a liveness probe that kills it",
    objects: [
      withContainer(aPod("web"), {
        livenessProbe: probe("exit 1"),
        terminationMessagePath: "/dev/termination-log",
      }),
    ],
    target: "pod/web",
    cause: /container main: (CrashLoopBackOff: ended|crashed) \d+ times/,
    next: /kubectl logs -n \S+ web -c main --previous/,
  },
  {
    name: "an image that standalone mode cannot run",
    objects: [withContainer(aPod("web"), { image: "nginx:1.29" })],
    target: "pod/web",
    cause: /container main: \w+: .*image.*nginx:1\.29/,
    next: /correct its image/,
    doctor: /Pod \S+\/web +fail +container main: .*nginx/,
  },
  {
    name: "a node selector that no node has",
    objects: [withSpec(aPod("web"), { nodeSelector: { disk: "gold" } })],
    target: "pod/web",
    cause: /Pod \S+\/web: Pending: 0\/1 nodes are available/,
    next: /kubectl describe nodes/,
  },
  {
    name: "a scheduling gate that nobody has taken away",
    objects: [withSpec(aPod("web"), { schedulingGates: [{ name: "example.com/wait" }] })],
    target: "pod/web",
    cause: /Pod \S+\/web: Pending: held by its scheduling gates example\.com\/wait/,
    next: /takes it out of spec\.schedulingGates/,
  },
  {
    name: "a node name that is none",
    objects: [withSpec(aPod("web"), { nodeName: "nowhere" })],
    target: "pod/web",
    cause: /Node nowhere: does not exist/,
    next: /kubectl get nodes/,
  },
  {
    name: "a claim that nobody has made",
    objects: [aPod("web", undefined, { "/data": "data" })],
    target: "pod/web",
    cause: /PersistentVolumeClaim \S+\/data: does not exist/,
    next: /kubectl get pvc -n/,
  },
  {
    name: "one of two claims that has no class",
    objects: [
      aClaim("data"),
      aClaim("log", { className: "none" }),
      aPod("web", undefined, { "/data": "data", "/log": "log" }),
    ],
    target: "pod/web",
    cause: /PersistentVolumeClaim \S+\/log: StorageClass none does not exist/,
    next: /create StorageClass none/,
  },
  {
    name: "a ConfigMap in the environment that nobody has made",
    objects: [withContainer(aPod("web"), { envFrom: [{ configMapRef: { name: "settings" } }] })],
    target: "pod/web",
    cause: /container main: CreateContainerConfigError: .*settings/,
    next: /kubectl describe pod -n \S+ web/,
  },
  {
    name: "a Secret as a volume that nobody has made",
    objects: [withSpec(aPod("web"), { volumes: [{ name: "keys", secret: { secretName: "keys" } }] })],
    target: "pod/web",
    cause: /Pod \S+\/web: Pending: FailedMount: .*keys/,
    next: /kubectl describe pod -n \S+ web/,
  },
  {
    name: "an image that must not run as root, and would",
    objects: [withContainer(aPod("web"), { securityContext: { runAsNonRoot: true } })],
    target: "pod/web",
    cause: /container main: \w+: .*(runAsNonRoot|root)/,
    next: /kubectl describe pod -n \S+ web/,
  },
  {
    name: "a pod that somebody else keeps",
    objects: [withFinalizer(aPod("web"))],
    breaks: async ({ kubectl, namespace }) => {
      await kubectl.run("delete", "pod", "web", "-n", namespace, "--wait=false");
    },
    target: "pod/web",
    cause: /Pod \S+\/web: is being deleted since \S+: held by example\.com\/holds-it/,
    next: /the controller that set the finalizer has to remove it/,
  },
  {
    name: "more of the processor than any node has",
    objects: [withContainer(aPod("web"), { resources: { requests: { cpu: "1000" } } })],
    target: "pod/web",
    cause: /Pod \S+\/web: Pending: 0\/1 nodes are available: .*cpu/,
    next: /kubectl describe nodes/,
  },
  {
    name: "a ConfigMap as a volume that nobody has made",
    objects: [withSpec(aPod("web"), { volumes: [{ name: "settings", configMap: { name: "settings" } }] })],
    target: "pod/web",
    cause: /Pod \S+\/web: Pending: FailedMount: .*settings/,
    next: /kubectl describe pod -n \S+ web/,
  },
  {
    name: "a key that a Secret does not have",
    objects: [
      { apiVersion: "v1", kind: "Secret", metadata: { name: "keys" }, stringData: { user: "ann" } },
      withContainer(aPod("web"), {
        env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "keys", key: "password" } } }],
      }),
    ],
    target: "pod/web",
    cause: /container main: CreateContainerConfigError: .*password/,
    next: /kubectl describe pod -n \S+ web/,
  },
  {
    name: "a hook that fails after the start",
    objects: [
      withContainer(aPod("web"), { lifecycle: { postStart: { exec: { command: ["sh", "-c", "exit 4"] } } } }),
    ],
    target: "pod/web",
    cause: /container main: .*PostStartHookError: command exited with 4/,
    next: /kubectl (describe pod|logs) -n \S+ web/,
  },
  {
    name: "a folder of an image that is not there",
    objects: [withContainer(aPod("web"), { image: "dir:/no/such/folder" })],
    target: "pod/web",
    cause: /container main: \w+: .*\/no\/such\/folder/,
    next: /correct its image/,
  },
  {
    name: "a claim that only one pod may use, and two do",
    objects: [
      withSpec(aClaim("data"), { accessModes: ["ReadWriteOncePod"] }),
      aPod("first", undefined, { "/data": "data" }),
    ],
    breaks: async ({ kubectl, namespace }) => {
      await kubectl.run("wait", "--for=condition=Ready", "pod/first", "-n", namespace, "--timeout=120s");
      const second = { ...aPod("web", undefined, { "/data": "data" }), metadata: { name: "web", namespace } };
      await kubectl.apply(JSON.stringify(second));
    },
    target: "pod/web",
    cause: /Pod \S+\/web: Pending: .*ReadWriteOncePod access mode: pod "first" uses "data"/,
    next: /end the other: kubectl delete pod -n \S+ first/,
  },
];
