import { execFile } from "node:child_process";
import { rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { mooring } from "../support/mooring.ts";
import { imageOf, pvOf, volumeOf } from "./bound.ts";
import { aClaim, aPod } from "./objects.ts";
import type { Situation, World } from "./situation.ts";

const execute = promisify(execFile);
const imageFile = async (world: World): Promise<string> => imageOf(await volumeOf(world), world);
const usePod = ({ kubectl, namespace }: World) =>
  kubectl.apply(
    JSON.stringify({ ...aPod("web", undefined, { "/data": "data" }), metadata: { name: "web", namespace } }),
  );
const running = ({ kubectl, namespace }: World) =>
  kubectl.run("wait", "--for=condition=Ready", "pod/web", "-n", namespace, "--timeout=120s");

/** Takes the mount of the pod's volume away, as an operator may by mistake. */
async function unmount(world: World): Promise<void> {
  await running(world);
  const { kubectl, namespace, up } = world;
  const uid = await kubectl.run("get", "pod", "web", "-n", namespace, "-o", "jsonpath={.metadata.uid}");
  const volumes = join(up.stateDir, "kubelet/pods", uid, "volumes/kubernetes.io~csi");
  const { stdout } = await execute("findmnt", ["-rno", "TARGET"]);
  for (const target of stdout.split("\n").filter((line) => line.startsWith(volumes)))
    await execute("umount", ["-l", target]);
}

/** A pod has used the volume, and is gone. */
async function useOnce(world: World): Promise<void> {
  await usePod(world);
  await running(world);
  const { kubectl, namespace } = world;
  await kubectl.run("delete", "pod", "web", "-n", namespace, "--grace-period=1");
  const detached = "--for=jsonpath={.status.state}=detached";
  const volume = `volumes.storage.mooring.dev/${await volumeOf(world)}`;
  await kubectl.run("wait", detached, volume, "--timeout=120s");
}

const UNMOUNTED: readonly { asked: string; target: Situation["target"] }[] = [
  { asked: "the pod", target: "pod/web" },
  { asked: "its claim", target: "pvc/data" },
  { asked: "the volume", target: async (world) => `volume/${await volumeOf(world)}` },
  { asked: "the PersistentVolume", target: async (world) => `pv/${await pvOf(world)}` },
];

const UNUSED = [
  ["a file system", aClaim("data")],
  ["a raw device", { ...aClaim("data"), spec: { ...aClaim("data").spec, volumeMode: "Block" } }],
] as const;

export const VOLUMES: readonly Situation[] = [
  ...UNUSED.map(
    ([what, claim]): Situation => ({
      name: `a volume that nobody has used yet, ${what}, whose image somebody has deleted`,
      objects: [claim],
      breaks: async (world) => {
        await rm(await imageFile(world));
      },
      target: "pvc/data",
      cause: /Volume v-\S+: DATA_LOSS: the image of volume v-\S+ is gone/,
      next: /nothing was ever written to it: delete its claim, and create it again: kubectl delete pvc -n \S+ data/,
      doctor: /Volume v-\S+ \(claim NS\/data\) +fail/,
    }),
  ),
  {
    name: "a volume that nobody has used yet whose image somebody has truncated",
    objects: [aClaim("data")],
    breaks: async (world) => {
      await truncate(await imageFile(world), 32 << 20);
    },
    target: "pvc/data",
    cause: /Volume v-\S+: DATA_LOSS: the image of volume v-\S+ has 33554432 bytes, but had 67108864/,
    next: /nothing was ever written to it, and nothing is lost: kubectl patch volumes\.storage\.mooring\.dev/,
    doctor: /Volume v-\S+ \(claim NS\/data\) +fail/,
  },
  {
    name: "a volume whose image somebody has deleted",
    objects: [aClaim("data")],
    breaks: async (world) => {
      await useOnce(world);
      await rm(await imageFile(world));
      await usePod(world);
    },
    target: "pod/web",
    cause: /Volume v-\S+: \w+: .*image.*(missing|gone|does not exist)/,
    next: /put its image back where it was, or restore a snapshot/,
  },
  {
    name: "a volume whose image somebody has truncated",
    objects: [aClaim("data")],
    breaks: async (world) => {
      await useOnce(world);
      await truncate(await imageFile(world), 32 << 20);
      await usePod(world);
    },
    target: "pod/web",
    cause: /Volume v-\S+: \w+: the image of volume v-\S+ has 33554432 bytes, but had 67108864/,
    next: /restore a snapshot, or go on with what is left: kubectl patch volumes\.storage\.mooring\.dev/,
  },
  {
    name: "an operator who has attached the volume that a pod wants, without its device",
    objects: [aClaim("data")],
    breaks: async (world) => {
      const volume = await volumeOf(world);
      const { code, stderr } = await mooring(
        "volume",
        "attach",
        volume,
        "--node",
        "node-a",
        "--maintenance",
        "--kubeconfig",
        world.up.kubeconfig,
      );
      if (code !== 0) throw new Error(stderr);
      await usePod(world);
    },
    target: "pod/web",
    cause: /ticket \S+ \(csi-attacher.*waits for \S+: \w+: /,
    next: /mooring ticket (list|rm) v-/,
  },
  ...UNMOUNTED.map(({ asked, target }) => ({
    name: `a mount that somebody has taken away under a pod, asked about ${asked}`,
    objects: [aClaim("data"), aPod("web", undefined, { "/data": "data" })],
    breaks: unmount,
    target,
    cause: /volumes of Pod \S+\/web: claim data is not mounted at \S+: it was unmounted while the pod runs/,
    next: /delete the pod, and it is mounted anew: kubectl delete pod -n \S+ web/,
  })),
];
