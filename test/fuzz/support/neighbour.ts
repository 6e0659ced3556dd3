import { open } from "node:fs/promises";
import { join } from "node:path";
import { PersistentVolumeClaims, type Pod, Pods, type RestStore } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { claim } from "../../support/manifests.ts";

const NAME = "neighbour";
/** Writes a number, has it on disk, and says so, again and again. */
const WRITE = `use IO::Handle; $| = 1; open(my $file, ">>", "/data/numbers") or die;
for (my $n = 1; ; $n++) { print $file "$n\\n"; $file->flush; $file->sync or die; print "$n\\n"; select undef, undef, undef, 0.02 }`;

/** A pod that behaves well, on a claim. */
export interface Neighbour {
  uid: string;
  /** How many writes it knows to be on its volume. */
  written(): Promise<number>;
  /** It goes on writing, is ready, and was never started again. */
  isWell(): Promise<void>;
}

export async function startNeighbour(store: RestStore, stateDir: string): Promise<Neighbour> {
  await store.create(PersistentVolumeClaims, claim("default", NAME));
  const probe = { exec: { command: ["test", "-s", "/data/numbers"] }, periodSeconds: 1, timeoutSeconds: 60 };
  await store.create(Pods, {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: NAME, namespace: "default" } },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          ...{ name: "main", image: "host", command: ["perl", "-e", WRITE] },
          ...{ readinessProbe: probe, livenessProbe: probe },
          volumeMounts: [{ name: "data", mountPath: "/data" }],
        },
      ],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: NAME } }],
    },
  });
  const read = () => store.get(Pods, { namespace: "default", name: NAME });
  const ready = ({ status }: Pod) =>
    status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;
  const pod = await eventually("the neighbour to be ready", async () => {
    const seen = await read();
    return ready(seen) && seen;
  });
  const uid = pod.metadata.uid ?? "";
  const log = join(stateDir, "kubelet/logs/pods", `default_${NAME}_${uid}`, "main/0.log");
  const written = () =>
    lastNumber(log).catch(async (error: unknown) => {
      throw new Error(`the log of ${JSON.stringify((await read()).status)}`, { cause: error });
    });
  return {
    uid,
    written,
    isWell: async () => {
      const before = await written();
      await eventually("the neighbour to go on writing", async () => (await written()) > before + 10);
      const seen = await eventually("the neighbour to be ready", async () => {
        const now = await read();
        return ready(now) && now;
      });
      const restarts = seen.status?.containerStatuses?.[0]?.restartCount;
      if (restarts !== 0) throw new Error(`the neighbour was started again: ${JSON.stringify(seen.status)}`);
    },
  };
}

async function lastNumber(log: string): Promise<number> {
  const file = await open(log, "r");
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, Math.max(0, size - 64));
    return Number(buffer.toString("utf8", 0, bytesRead).split("\n").at(-2) ?? 0);
  } finally {
    await file.close();
  }
}
