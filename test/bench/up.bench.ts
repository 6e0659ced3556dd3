import { execFile } from "node:child_process";
import { mkdir, open, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  ConfigMaps,
  LocalStore,
  Namespaces,
  PersistentVolumeClaims,
  Pods,
  ResourceRegistry,
  type RestStore,
  waitFor,
} from "@mooring/store";
import { claim, pod } from "../support/manifests.ts";
import { Up } from "../support/up.ts";
import { type Measurement, median, sized, time } from "./measure.ts";

const command = promisify(execFile);
const ROUNDS = sized(10, 2);
/** Pods after the first ones, whose program is compiled by then. */
const LATER = sized(20, 2);
const STARTS = sized(3, 1);
const OBJECTS = sized(20_000, 500);
const BATCH = 500;
const namespace = "bench";
const patience = (): AbortSignal => AbortSignal.timeout(60_000);

async function image(path: string): Promise<void> {
  await writeFile(path, "");
  await truncate(path, 64 << 20);
  const file = await open(path);
  await file.sync();
  await file.close();
}

/** What a container needs that runc's own example describes, with a volume; returns its removal. */
async function rawBundle(folder: string): Promise<() => Promise<void>> {
  const [rootfs, volume] = [join(folder, "rootfs"), join(folder, "volume")];
  for (const each of [rootfs, volume]) await mkdir(each);
  await command("mount", ["--bind", "--make-private", "/", rootfs]);
  await command("runc", ["spec", "--bundle", folder]);
  const spec = JSON.parse(await readFile(join(folder, "config.json"), "utf8"));
  spec.process = { ...spec.process, terminal: false, args: ["true"] };
  spec.root = { path: rootfs, readonly: true };
  spec.mounts.push({ destination: "/mnt", type: "bind", source: volume, options: ["rbind", "rw"] });
  spec.linux.namespaces = spec.linux.namespaces.filter(({ type }: { type: string }) => type !== "network");
  await writeFile(join(folder, "config.json"), JSON.stringify(spec));
  return async () => {
    await command("umount", [rootfs]);
  };
}

/** The same work by hand: an image; then device, file system, mount, and a process in namespaces of its own. */
async function rawAttach(folder: string, round: number): Promise<void> {
  const path = join(folder, `raw-${round}`);
  const target = join(folder, "volume");
  const { stdout } = await command("losetup", ["-f", "--show", "--direct-io=on", "-b", "4096", path]);
  const device = stdout.trim();
  try {
    await command("mkfs.ext4", ["-q", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1", device]);
    await command("mount", [device, target]);
    await command("runc", ["run", "--bundle", folder, `mooring-bench-${process.pid}`]);
    await command("umount", [target]);
  } finally {
    await command("losetup", ["-d", device]);
  }
}

async function bound(store: RestStore, round: number): Promise<void> {
  const name = `c${round}`;
  await store.create(PersistentVolumeClaims, claim(namespace, name));
  await waitFor(
    store,
    { resource: PersistentVolumeClaims, key: { namespace, name } },
    (item) => item?.status?.phase === "Bound",
    patience(),
  );
}

async function mounted(store: RestStore, round: number): Promise<void> {
  const name = `p${round}`;
  await store.create(Pods, pod(namespace, name, "exec sleep 100000", { mounts: { "/data": `c${round}` } }));
  await waitFor(
    store,
    { resource: Pods, key: { namespace, name } },
    (item) => item?.status?.phase === "Running",
    patience(),
  );
}

async function readyTime(up: Up): Promise<number> {
  const taken: number[] = [];
  for (let round = 0; round < STARTS; round += 1) {
    await up.end("SIGTERM");
    const start = performance.now();
    await up.start();
    taken.push(performance.now() - start);
  }
  return median(taken);
}

/** Fills the stopped server's store: start-up must not depend on what it contains. */
async function fill(up: Up): Promise<void> {
  await up.end("SIGTERM");
  const registry = new ResourceRegistry();
  registry.register({ resource: ConfigMaps, hasStatus: false });
  const store = await LocalStore.open({ path: join(up.stateDir, "store"), registry });
  const object = (index: number) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `filler-${index}`, namespace: "default" },
    data: { text: "x".repeat(500) },
  });
  for (let done = 0; done < OBJECTS; done += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, index) => object(done + index));
    await Promise.all(batch.map((item) => store.create(ConfigMaps, item)));
  }
  await store.close();
}

/** What an operator waits for: ready, create-to-Bound, pod-to-Running, against the same commands by hand. */
async function measure(up: Up): Promise<Measurement[]> {
  await up.start();
  const ready = await readyTime(up);
  const store = await up.store();
  await store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const raw = join(up.stateDir, "pools", "default", "raw");
  await mkdir(raw, { recursive: true });
  const all = ROUNDS + LATER;
  const rawImage = await time(all, (round) => image(join(raw, `raw-${round}`)));
  const claims = await time(all, (round) => bound(store, round));
  const removeBundle = await rawBundle(raw);
  const rawMount = await time(all, (round) => rawAttach(raw, round)).finally(removeBundle);
  const firstPods = await time(ROUNDS, (round) => mounted(store, round));
  const laterPods = await time(LATER, (round) => mounted(store, ROUNDS + round));
  await store.delete(Namespaces, { name: namespace });
  await rm(raw, { recursive: true });
  await fill(up);
  const readyFull = await readyTime(up);
  const beside = (name: string, value: number): Measurement => ({
    name,
    unit: "ms",
    value,
    baseline: rawMount,
    baselineName: "loop, mkfs, mount, runc",
  });
  return [
    { name: "mooring up until ready", unit: "ms", value: ready, limit: 3000 },
    { name: `the same with ${OBJECTS} objects more`, unit: "ms", value: readyFull, limit: 2000 },
    {
      name: "claim created until Bound",
      unit: "ms",
      value: claims,
      baseline: rawImage,
      baselineName: "image, fsync",
    },
    beside(`pod created until Running, the first ${ROUNDS}`, firstPods),
    beside(`pod created until Running, the next ${LATER}`, laterPods),
  ];
}

export async function run(): Promise<Measurement[]> {
  const up = await Up.create();
  try {
    return await measure(up);
  } finally {
    await up.dispose();
  }
}
