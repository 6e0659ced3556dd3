import { open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { allInParallel, defined, orAborted, within } from "@mooring/store";
import { EngineError } from "../../../errors.ts";
import type { Host, SectorSize } from "../../../host/host.ts";
import { ENOENT, RbdCommands, withoutKeys } from "../commands.ts";
import { readSectorSize } from "../image-sectors.ts";
import { listOf, objectOf, parse } from "../json.ts";
import { readOmap } from "../omap.ts";
import { checkPlace, type RbdPlace } from "../place.ts";
import { readList } from "../rbd-info.ts";
import { readWatchers } from "../shut-out.ts";
import { uuidOfImage } from "./csi-handle.ts";
import { HEAD_BYTES, readSuperblock, type Superblock } from "./superblock.ts";

/** Where ceph-csi keeps which name leads to which volume; the last part is its option `--instanceid`. */
const NAMES = "csi.volumes.default";
/** The exit code of `rados` for whatever goes wrong. */
const FAILED = 1;
const CLONED_MS = 60_000;

/** What ceph-csi has written down about a volume. */
export interface CsiRecord {
  uuid: string;
  /** The CreateVolume name: mostly that of the PersistentVolume. */
  request: string;
  /** The name leads back to the volume. One that does not was left behind by something that was killed. */
  whole: boolean;
  /** Namespace of the claim, where ceph-csi was given it. */
  owner?: string;
  /** ceph-csi has encrypted what is in it. */
  encrypted: boolean;
}

/** An image of the Ceph pool, as it is. */
export interface SurveyedImage {
  name: string;
  /** Ceph's own, which stays when the image gets another name. */
  cephID: string;
  /** Bytes. */
  size: number;
  features: string[];
  /** `pool/image`, of a clone. */
  parent?: string;
  /** `pool/group`. */
  group?: string;
  snapshots: number;
  /** Addresses of those that have it open. */
  watchers: string[];
  content: Superblock;
  /** Of the device that Mooring makes of it. */
  sectorSize: SectorSize;
  csi?: CsiRecord;
}

/** What there is in a Ceph pool. */
export interface RbdSurvey {
  /** Ceph's number of the pool. */
  poolID: number;
  images: SurveyedImage[];
  /** Of all images that there are. */
  names: ReadonlySet<string>;
}

/** Which pool, and by which programs. `folder`: an absolute one, for the configuration file of our clients. */
export interface ImportOptions {
  host: Pick<Host, "exec" | "clock">;
  place: RbdPlace;
  folder: string;
}

/** Which of the pool's images; default: all. */
export interface SurveyOptions extends ImportOptions {
  images?: readonly string[];
  /** The names that images may have by now, by those that they had. */
  renamed?: ReadonlyMap<string, string>;
}

/**
 * Reads what there is, by commands that only read: a Ceph user who may do nothing else is enough.
 * @throws NOT_FOUND for an image that was named and is not there
 */
export async function surveyRbd(options: SurveyOptions): Promise<RbdSurvey> {
  const { host, place, folder, renamed } = options;
  checkPlace(place);
  const commands = new RbdCommands({ ...host, place, folder });
  await commands.prepare();
  const poolID = await readPoolID(commands, place);
  const all = new Set((await readList(commands)).map(({ image }) => image));
  const images = options.images?.map((name) => (all.has(name) ? name : (renamed?.get(name) ?? name)));
  const missing = images?.find((name) => !all.has(name));
  if (missing !== undefined)
    throw new EngineError("NOT_FOUND", `there is no image ${missing} in ${place.pool}`);
  const reserved = await readOmap(commands, NAMES);
  const found: SurveyedImage[] = [];
  await allInParallel([...new Set(images ?? all)], async (name) => {
    const image = await readImage(commands, name, options);
    // It may have gone meanwhile.
    if (image === undefined) return;
    const csi = await readRecord(commands, name, reserved);
    found.push({ ...image, ...defined({ csi }) });
  });
  return { poolID, names: all, images: found.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

async function readPoolID(commands: RbdCommands, { pool }: RbdPlace): Promise<number> {
  const { stdout } = await commands.ceph(["osd", "pool", "ls", "detail", "--format", "json"]);
  const found = listOf(parse(stdout))
    .map(objectOf)
    .find(({ pool_name }) => pool_name === pool);
  if (found !== undefined) return Number(found["pool_id"] ?? found["pool"]);
  throw new EngineError("NOT_FOUND", `the cluster has no pool ${pool}`);
}

async function readImage(
  commands: RbdCommands,
  name: string,
  options: ImportOptions,
): Promise<SurveyedImage | undefined> {
  const { exitCode, stdout } = await commands.rbd(["info", "--format", "json", name], { allow: [ENOENT] });
  if (exitCode !== 0) return undefined;
  const { id, size, features, parent, group, snapshot_count, block_name_prefix } = objectOf(parse(stdout));
  const below = parent === undefined ? undefined : objectOf(parent);
  const first = `${block_name_prefix}.${"0".repeat(16)}`;
  const head = await readHead(commands, first, options.folder);
  const content =
    head ?? (below === undefined ? Buffer.alloc(0) : await readCloned(name, commands.conf, options));
  return {
    ...{ name, cephID: String(id), size: Number(size), features: listOf(features).map(String) },
    ...{ snapshots: Number(snapshot_count ?? 0), watchers: await readWatchers(commands, name) },
    ...{
      content: readSuperblock(content),
      sectorSize: await readSectorSize(commands, { id: String(id), name }),
    },
    ...defined({
      parent: below && `${below["pool"]}/${below["image"]}`,
      group: group === undefined ? undefined : String(group),
    }),
  };
}

async function readRecord(
  commands: RbdCommands,
  image: string,
  reserved: ReadonlyMap<string, string>,
): Promise<CsiRecord | undefined> {
  const uuid = uuidOfImage(image);
  if (uuid === undefined) return undefined;
  const values = await readOmap(commands, `csi.volume.${uuid}`);
  const request = values.get("csi.volname");
  if (request === undefined || (values.get("csi.imagename") ?? image) !== image) return undefined;
  const owner = values.get("csi.volume.owner");
  return {
    ...{ uuid, request, whole: reserved.get(`csi.volume.${request}`) === uuid },
    encrypted: values.has("csi.volume.encryptKMS"),
    ...defined({ owner: owner === "" ? undefined : owner }),
  };
}

/** From the first of the objects that an image is made of: nobody opens the image for it. Undefined where nothing was written there. */
async function readHead(commands: RbdCommands, object: string, folder: string): Promise<Buffer | undefined> {
  const file = join(folder, `${object}.head`);
  try {
    const { exitCode, stderr } = await commands.rados(["get", object, file], { allow: [FAILED] });
    if (exitCode === 0) return await firstBytes(file);
    if (/\(2\) No such file or directory/.test(stderr)) return undefined;
    throw new EngineError("UNAVAILABLE", `rados get ${object} failed: ${stderr.trim().slice(-200)}`);
  } finally {
    await rm(file, { force: true });
  }
}

/**
 * The beginning of a clone that has nothing of its own there: what its parent had. It is opened for that, by a client that may not
 * write, and so is seen by no watcher and takes no lock. The pipe ends it when there is enough.
 */
async function readCloned(
  image: string,
  conf: string,
  { host, place, folder }: ImportOptions,
): Promise<Buffer> {
  const file = join(folder, `${image}.head`);
  const namespace = place.namespace === undefined ? [] : ["--namespace", place.namespace];
  const args = ["--conf", conf, "--id", place.user, "--pool", place.pool, ...namespace];
  const script = 'file=$1; bytes=$2; shift 2; rbd "$@" 2> "$file.error" | head -c "$bytes" > "$file"';
  try {
    const run = (limit: AbortSignal) =>
      host.exec.run(
        "sh",
        ["-c", script, "sh", file, String(HEAD_BYTES), ...args, "export", "--no-progress", image, "-"],
        { signal: limit },
      );
    await within(CLONED_MS, undefined, (limit) => orAborted(run(limit), limit));
    const bytes = await firstBytes(file);
    if (bytes.length > 0) return bytes;
    const why = withoutKeys((await readFile(`${file}.error`, "utf8")).trim().slice(-200));
    throw new EngineError("UNAVAILABLE", `rbd export ${image} failed: ${why}`);
  } finally {
    for (const made of [file, `${file}.error`]) await rm(made, { force: true });
  }
}

async function firstBytes(file: string): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
