import { existsSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Host } from "../../host/host.ts";
import { mountFault } from "../../host/mount-fault.ts";
import { IMAGE_SUFFIX } from "../../pools/file-images.ts";
import { GOING, TEMPORARY } from "../../pools/image-store.ts";
import type { Leak } from "./leak.ts";
import type { KnownPool, ReadRecords, Records } from "./records.ts";

/** Younger ones may be the work of a copy in progress. */
const HALF_MADE_AFTER_MS = 60_000;

/** Images that no record explains, records that miss theirs, and what killed copies left. */
export async function leakedImages(
  host: Host,
  pools: readonly KnownPool[],
  read: ReadRecords,
): Promise<Leak[]> {
  const leaks = await Promise.all(
    pools.map(async (pool) => ((await isReadable(host, pool)) ? inPool(host, pool, read) : [])),
  );
  return leaks.flat();
}

/**
 * An unmounted pool shows an empty folder, and one whose file system has failed may show anything: neither proves a thing.
 */
async function isReadable(host: Host, { layout }: KnownPool): Promise<boolean> {
  // Which images there are only the cluster knows.
  if (layout.remote) return false;
  if (!existsSync(layout.images)) return false;
  const { mount } = layout.backing ?? layout.shared ?? {};
  if (mount === undefined) return true;
  const top = (await host.mounts.at(mount)).at(-1);
  return top !== undefined && (await mountFault(top)) === undefined;
}

async function inPool(host: Host, pool: KnownPool, read: ReadRecords): Promise<Leak[]> {
  const { images, backing, shared } = pool.layout;
  const suffix = backing === undefined && shared === undefined ? "" : IMAGE_SUFFIX;
  const names = await readdir(images);
  const records = await read();
  const pathOf = (id: string): string => join(images, `${id}${suffix}`);
  const strange = names
    .filter((name) => /^[vs]-/.test(name) && name.endsWith(suffix))
    .map((name) => name.slice(0, name.length - suffix.length))
    .filter((id) => !records.volumes.has(id) && !records.snapshots.has(id) && existsSync(pathOf(id)))
    .map((id) => imageLeak(pool, pathOf(id)));
  const missing = expected(records, pool.name)
    .filter(({ id }) => !existsSync(pathOf(id)))
    .map(({ id, kind }) => recordLeak(kind, id, pathOf(id)));
  const still = missing.length === 0 ? records : await read();
  return [
    ...strange,
    ...missing.filter(({ subject }) =>
      expected(still, pool.name).some((e) => subject === `${e.kind}/${e.id}`),
    ),
    ...(await halfMade(host, images, names)),
  ];
}

/** Records of images that should be there. */
function expected(
  { volumes, snapshots }: Records,
  pool: string,
): { kind: "Volume" | "Snapshot"; id: string }[] {
  const whole = [...volumes.values()].filter(
    ({ spec, status }) => spec.pool === pool && status?.size !== undefined && status.state !== "deleting",
  );
  const made = [...snapshots.values()].filter(
    ({ spec, status, metadata }) =>
      spec.pool === pool && status?.creationTime !== undefined && metadata.deletionTimestamp === undefined,
  );
  return [
    ...whole.map((volume) => ({ kind: "Volume" as const, id: volume.metadata.name })),
    ...made.map((snapshot) => ({ kind: "Snapshot" as const, id: snapshot.metadata.name })),
  ];
}

async function halfMade(host: Host, images: string, names: readonly string[]): Promise<Leak[]> {
  const leaks: Leak[] = [];
  for (const name of names.filter((n) => n.startsWith(TEMPORARY) || n.startsWith(GOING))) {
    const path = join(images, name);
    const info = await lstat(path).catch(() => undefined);
    if (info === undefined || host.clock.now().getTime() - info.mtimeMs < HALF_MADE_AFTER_MS) continue;
    leaks.push({
      kind: "half-made-image",
      subject: path,
      message: `${path} was left by a copy or removal that never finished`,
      fix: "restart mooring: the pool is cleaned when it is opened",
    });
  }
  return leaks;
}

function imageLeak(pool: KnownPool, path: string): Leak {
  return {
    kind: "image-without-record",
    subject: path,
    message: `${path} is in pool ${pool.name}, but no Volume or Snapshot has its name`,
    fix: `if the data is not needed: rm -r ${path}`,
  };
}

function recordLeak(kind: string, id: string, path: string): Leak {
  return {
    kind: "record-without-image",
    subject: `${kind}/${id}`,
    message: `${kind} ${id} records that its image is there, but ${path} does not exist`,
    fix: `put the image back; delete the ${kind} only if its data is lost for good or not needed`,
  };
}
