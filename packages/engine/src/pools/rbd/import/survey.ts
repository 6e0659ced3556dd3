import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { allInParallel, defined } from "@mooring/store";
import { EngineError } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { ENOENT, RbdCommands } from "../commands.ts";
import { listOf, objectOf, parse } from "../json.ts";
import { checkPlace, type RbdPlace } from "../place.ts";
import { readList } from "../rbd-info.ts";
import { readWatchers } from "../shut-out.ts";
import { uuidOfImage } from "./csi-handle.ts";
import { parseOmap } from "./omap.ts";
import { HEAD_BYTES, readSuperblock, type Superblock } from "./superblock.ts";

/** Where ceph-csi keeps which name leads to which volume; the last part is its option `--instanceid`. */
const NAMES = "csi.volumes.default";
/** The exit code of `rados` for whatever goes wrong. */
const FAILED = 1;

/** What ceph-csi has written down about a volume. */
export interface CsiRecord {
  uuid: string;
  /** The CreateVolume name: mostly that of the PersistentVolume. */
  request: string;
  /** The name leads back to the volume. One that does not was left behind by something that was killed. */
  whole: boolean;
  /** Namespace of the claim, where ceph-csi was told. */
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
  /** Undefined where its beginning is another image's still, that it is a clone of. */
  content?: Superblock;
  csi?: CsiRecord;
}

/** What there is in a Ceph pool. */
export interface RbdSurvey {
  /** Ceph's number of the pool. */
  poolID: number;
  images: SurveyedImage[];
}

/** Which pool, and which of its images; default: all. `folder`: an absolute one, for the configuration file of our clients. */
export interface SurveyOptions {
  host: Pick<Host, "exec" | "clock">;
  place: RbdPlace;
  folder: string;
  images?: readonly string[];
}

/**
 * Reads what there is, by commands that only read: a Ceph user who may do nothing else is enough.
 * @throws NOT_FOUND for an image that was named and is not there
 */
export async function surveyRbd({ host, place, folder, images }: SurveyOptions): Promise<RbdSurvey> {
  checkPlace(place);
  const commands = new RbdCommands({ ...host, place, folder });
  await commands.prepare();
  const poolID = await readPoolID(commands, place);
  const all = new Set((await readList(commands)).map(({ image }) => image));
  const missing = images?.find((name) => !all.has(name));
  if (missing !== undefined)
    throw new EngineError("NOT_FOUND", `there is no image ${missing} in ${place.pool}`);
  const reserved = await readOmap(commands, NAMES);
  const found: SurveyedImage[] = [];
  await allInParallel([...(images ?? all)], async (name) => {
    const image = await readImage(commands, name, folder);
    // It may have gone meanwhile.
    if (image === undefined) return;
    const csi = await readRecord(commands, name, reserved);
    found.push({ ...image, ...defined({ csi }) });
  });
  return { poolID, images: found.sort((a, b) => (a.name < b.name ? -1 : 1)) };
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
  folder: string,
): Promise<SurveyedImage | undefined> {
  const { exitCode, stdout } = await commands.rbd(["info", "--format", "json", name], { allow: [ENOENT] });
  if (exitCode !== 0) return undefined;
  const { id, size, features, parent, group, snapshot_count, block_name_prefix } = objectOf(parse(stdout));
  const below = parent === undefined ? undefined : objectOf(parent);
  const head = await readHead(commands, `${block_name_prefix}.${"0".repeat(16)}`, folder);
  const content = head ?? (below === undefined ? Buffer.alloc(0) : undefined);
  return {
    ...{ name, cephID: String(id), size: Number(size), features: listOf(features).map(String) },
    ...{ snapshots: Number(snapshot_count ?? 0), watchers: await readWatchers(commands, name) },
    ...defined({
      parent: below && `${below["pool"]}/${below["image"]}`,
      group: group === undefined ? undefined : String(group),
      content: content && readSuperblock(content),
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

async function firstBytes(file: string): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Empty where there is no such object. */
async function readOmap(commands: RbdCommands, object: string): Promise<Map<string, string>> {
  const { exitCode, stdout, stderr } = await commands.rados(["listomapvals", object], { allow: [FAILED] });
  if (exitCode === 0) return parseOmap(stdout);
  if (/\(2\) No such file or directory/.test(stderr)) return new Map();
  throw new EngineError("UNAVAILABLE", `rados listomapvals ${object} failed: ${stderr.trim().slice(-200)}`);
}
