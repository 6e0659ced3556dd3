import { Pools } from "@mooring/engine";
import { type ObjectStore, PersistentVolumeClaims, type Pod, Pods } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { claim } from "../../support/manifests.ts";
import { type Life, NAMESPACE } from "./life.ts";
import type { KillLoop } from "./run.ts";

/** Writes until a write fails, and stays: the pool is full as long as it is there. */
const PROGRAM = `
use IO::Handle;
open(my $f, '>', '/data/fill') or die;
$SIG{TERM} = sub { exit 0 };
my $block = join '', map { pack('N', ($_ * 2654435761) % 4294967296) } 1 .. 262144;
1 while defined(syswrite($f, $block)) && $f->sync;
sleep 1000 while 1;
`;
const KEY = { namespace: NAMESPACE, name: "filler" };

async function isFull(store: ObjectStore): Promise<boolean> {
  const { status } = await store.get(Pools, { name: "default" });
  const low = status?.conditions?.find(({ type }) => type === "SpaceLow");
  return low?.status === "True" && low.reason === "AlmostFull";
}

/** One writer takes all that a pool has left. Others may fail then; nothing that they have acknowledged does. */
export async function fill(life: Life): Promise<void> {
  const { store, ledger } = life;
  life.isFull = true;
  const container = {
    ...{ name: "main", image: "host", command: ["perl", "-e", PROGRAM] },
    volumeMounts: [{ name: "data", mountPath: "/data" }],
  };
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: KEY.name } }];
  const pod: Pod = {
    ...{ apiVersion: "v1", kind: "Pod", metadata: KEY },
    spec: { terminationGracePeriodSeconds: 2, containers: [container], volumes },
  };
  await life.spared(async () => {
    await ledger.create(store, PersistentVolumeClaims, claim(NAMESPACE, KEY.name, { size: "2Gi" }));
    await ledger.create(store, Pods, pod);
    await eventually("the pool to be reported full", async () => life.isOver || (await isFull(store)));
  });
}

/** The next life still says so, until there is room. A client that could not write starts anew. */
export async function makeRoom(loop: KillLoop, wrong: string[]): Promise<void> {
  const life = await loop.startWhole();
  const { store, ledger } = life;
  wrong.push(...(await ledger.settle(store)));
  for (const resource of [Pods, PersistentVolumeClaims])
    if (ledger.state(resource, KEY) === "present") await ledger.delete(store, resource, KEY);
  for (const client of loop.volumes) {
    client.forgetContainer();
    for (const part of ["pod", "auditor"] as const) if (client.has(part)) await client.delete(life, part);
  }
  const log = () => loop.up.output.slice(-4000);
  await eventually(
    "the filler and all writers to be gone",
    async () => {
      const claims = (await store.list(PersistentVolumeClaims)).items.map(({ metadata }) => metadata.name);
      return (await store.list(Pods)).items.length === 0 && !claims.includes(KEY.name);
    },
    { lastSeen: log },
  );
  await eventually("the pool to have room", async () => !(await isFull(store)), { lastSeen: log });
  await loop.up.end("SIGKILL");
}
