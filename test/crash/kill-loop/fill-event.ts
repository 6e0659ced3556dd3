import { join } from "node:path";
import { createHost, Pools, Volumes } from "@mooring/engine";
import { type ObjectStore, PersistentVolumeClaims, type Pod, Pods, type Resource } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { claim } from "../../support/manifests.ts";
import { keepersBelow } from "./keepers.ts";
import { type Life, NAMESPACE } from "./life.ts";
import type { KillLoop } from "./run.ts";

const MIB = 1024 ** 2;
const BLOCKS = "my $block = join '', map { pack('N', ($_ * 2654435761) % 4294967296) } 1 .. 262144;";

/** Writes until a write fails, and stays: the pool is full as long as it is there. */
const FILL = `
use IO::Handle;
open(my $f, '>', '/data/fill') or die;
$SIG{TERM} = sub { exit 0 };
${BLOCKS}
while (1) { defined(syswrite($f, $block)) && (++$n % 8 || $f->sync) or last }
sleep 1000 while 1;
`;
const FILLER = { namespace: NAMESPACE, name: "filler" };

/** What a pool that holds its writers is given room with: nothing else may go while all writers wait. */
const WRITE = `
use IO::Handle;
open(my $f, '>', '/data/file') or die;
${BLOCKS}
for (1 .. 100) { syswrite($f, $block) == 1048576 or die $! }
$f->sync or die $!;
`;
const VICTIM = { namespace: NAMESPACE, name: "victim" };

function writer(key: typeof FILLER, program: string): Pod {
  const container = {
    ...{ name: "main", image: "host", command: ["perl", "-e", program] },
    volumeMounts: [{ name: "data", mountPath: "/data" }],
  };
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: key.name } }];
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: key },
    spec: {
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 2,
      containers: [container],
      volumes,
    },
  };
}

interface Fullness {
  isFull: boolean;
  isHeld: boolean;
  free: number;
}

async function fullness(store: ObjectStore): Promise<Fullness> {
  const { status } = await store.get(Pools, { name: "default" });
  const reasonOf = (wanted: string) =>
    status?.conditions?.find((each) => each.type === wanted && each.status === "True")?.reason;
  const isHeld = reasonOf("WritersHeld") !== undefined;
  const isFull = reasonOf("SpaceLow") === "AlmostFull";
  return { isFull, isHeld, free: status?.freeBytes ?? 0 };
}

/**
 * One writer takes all that a pool has left. Others may fail then, or wait where the pool holds its writers; nothing that they
 * have acknowledged is lost.
 */
export async function fill({ up, ledger, random, holds }: KillLoop, life: Life): Promise<void> {
  const { store } = life;
  life.isFull = true;
  const make = async (key: typeof FILLER, size: string, program: string): Promise<void> => {
    await ledger.create(store, PersistentVolumeClaims, claim(NAMESPACE, key.name, { size }));
    await ledger.create(store, Pods, writer(key, program));
  };
  await life.spared(async () => {
    if (holds) {
      await make(VICTIM, "160Mi", WRITE);
      await eventually("what is to be removed to be written", async () => {
        if (life.isOver) return true;
        const { status } = await store.get(Pods, VICTIM);
        if (status?.phase === "Failed") throw new Error(`its writer failed: ${JSON.stringify(status)}`);
        return status?.phase === "Succeeded";
      });
      await ledger.delete(store, Pods, VICTIM);
    }
    await make(FILLER, "2Gi", FILL);
    await untilFull(life, holds);
    // Its writers go on waiting whoever is killed.
    if (holds && !life.isOver)
      for (const pid of await keepersBelow(up.stateDir)) if (random.chance(0.4)) process.kill(pid, "SIGKILL");
  });
}

/** A disk that others use as well takes its time; each part of the pool has its own. */
async function untilFull(life: Life, holds: boolean): Promise<void> {
  const isOver = ({ isFull, isHeld }: Fullness) => life.isOver || (holds ? isHeld : isFull);
  for (let last: Fullness | undefined, over = false; !over; ) {
    let now = await fullness(life.store);
    const before = last?.free ?? Number.POSITIVE_INFINITY;
    await eventually(
      "the pool to be reported full, or fuller than before",
      async () => {
        now = await fullness(life.store);
        return isOver(now) || now.free < before - 16 * MIB;
      },
      { lastSeen: () => [now, life.up.output.slice(-4000)] },
    );
    over = isOver(now);
    last = now;
  }
}

/** The next life still says so, until there is room. A client that could not write starts anew. */
export async function makeRoom(loop: KillLoop, wrong: string[]): Promise<void> {
  const life = await loop.startWhole();
  const { store, ledger } = life;
  wrong.push(...(await ledger.settle(store)));
  await removeFillers(loop, life);
  await endWriters(loop, life);
  await untilRoom(loop, life);
  await loop.up.end("SIGKILL");
}

export async function endWriters(loop: KillLoop, life: Life): Promise<void> {
  for (const client of loop.volumes) {
    client.forgetContainer();
    for (const part of ["pod", "auditor"] as const) if (client.has(part)) await client.delete(life, part);
  }
}

async function removeFillers({ ledger }: KillLoop, { store }: Life): Promise<void> {
  for (const resource of [Pods, PersistentVolumeClaims] satisfies Resource[])
    for (const key of [VICTIM, FILLER])
      if (ledger.state(resource, key) === "present") await ledger.delete(store, resource, key);
}

/** Whether the state has one that fills the pool: it goes on where its volume is still there. */
export function isFilling({ ledger }: KillLoop): boolean {
  return ledger.state(Pods, FILLER) === "present";
}

/** What the node has mounted for pods: the file systems of volumes, and where pods see them. */
async function mountsForPods(stateDir: string): Promise<string[]> {
  const folders = ["plugins", "pods"].map((name) => join(stateDir, "kubelet", name, "/"));
  const targets = (await createHost().mounts.list()).map(({ target }) => target);
  return targets.filter((target) => folders.some((folder) => target.startsWith(folder)));
}

/**
 * With its claim an image has not gone yet, nor with its last pod a file system that failed in the full pool, which stays as it
 * is until it is mounted anew: whoever is killed between the two finds both, and more failed writes.
 */
export async function untilRoom({ up }: KillLoop, { store }: Life): Promise<void> {
  let left: unknown;
  const isGone = async (): Promise<boolean> => {
    const pods = (await store.list(Pods)).items.map(({ metadata }) => metadata.name);
    const claims = (await store.list(PersistentVolumeClaims)).items.map(({ metadata }) => metadata.name);
    const volumes = (await store.list(Volumes)).items.filter(({ metadata }) => metadata.deletionTimestamp);
    const used = claims.filter((name) => [VICTIM, FILLER].some((key) => key.name === name));
    const { isFull } = await fullness(store);
    const mounts = await mountsForPods(up.stateDir);
    left = { pods, claims: used, volumes: volumes.map(({ metadata }) => metadata.name), mounts, isFull };
    return pods.length + used.length + volumes.length + mounts.length === 0 && !isFull;
  };
  await eventually("fillers and writers to be gone, and the pool to have room", isGone, {
    lastSeen: () => [left, up.output.slice(-4000)],
  });
}
