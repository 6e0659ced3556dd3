import { existsSync } from "node:fs";
import { readdir, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { describeBytes } from "../../object/describe-bytes.ts";
import { StatusError } from "../../object/status-error.ts";
import { makeFolder } from "../../runtime/make-folder.ts";

/** Copies kept, of which so many are the newest: with one of each hour before, what happened today can be undone. */
const [KEPT_COPIES, NEWEST] = [6, 2];
/** The disk must have room for so many more before a copy is made by itself: the store itself needs room, too. */
const ROOM = 3;

/** A copy of a store, as its name describes it. */
export interface StateCopy {
  path: string;
  /** RFC 3339. */
  time: string;
  /** Of the store when it was copied. */
  revision: number;
  bytes: number;
}

const NAME = /^store-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-(\d+)\.mdb$/;

/** Where the copies of a state folder's store are. */
export function copiesFolder(stateDir: string): string {
  return join(stateDir, "backups");
}

/** The file name of a copy: sorted by name, copies are sorted by time. */
export function copyName(time: Date, revision: number): string {
  return `store-${time.toISOString().replace(/[-:]|\.\d+/g, "")}-${revision}.mdb`;
}

/** The copies below a state folder, newest first. */
export async function listCopies(stateDir: string): Promise<StateCopy[]> {
  const folder = copiesFolder(stateDir);
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return [];
  });
  const copies: StateCopy[] = [];
  for (const name of names.sort().reverse()) {
    const [, year, month, day, hour, minute, second, revision] = NAME.exec(name) ?? [];
    if (revision === undefined) continue;
    const path = join(folder, name);
    const time = `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
    // Another process drops the oldest meanwhile. What is no file is no copy.
    const info = await stat(path).catch(() => undefined);
    const bytes = info?.isFile() ? info.size : undefined;
    if (bytes !== undefined) copies.push({ path, time, revision: Number(revision), bytes });
  }
  return copies;
}

/** Removes what need not be kept, and what copies have left whose process was killed. */
export async function dropOldCopies(stateDir: string): Promise<void> {
  const copies = await listCopies(stateDir);
  const kept = copiesToKeep(copies);
  for (const copy of copies.filter((each) => !kept.includes(each))) await rm(copy.path, { force: true });
  for (const name of await readdir(copiesFolder(stateDir))) {
    const pid = /\.mdb\.new-(\d+)$/.exec(name)?.[1];
    // Another process (`mooring state backup`) may be writing one at this moment.
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      await rm(join(copiesFolder(stateDir), name), { force: true });
  }
}

/** The newest, and of each hour before them the newest: a process that is started again and again pushes no other hour out. */
function copiesToKeep(copies: readonly StateCopy[]): StateCopy[] {
  const ofHours = new Map<string, StateCopy>();
  for (const copy of copies.slice(NEWEST)) {
    const hour = copy.time.slice(0, "2026-01-01T00".length);
    if (!ofHours.has(hour)) ofHours.set(hour, copy);
  }
  return [...copies.slice(0, NEWEST), ...ofHours.values()].slice(0, KEPT_COPIES);
}

/** Makes the folder of the copies. Throws ServiceUnavailable when the disk has no room to spare for one of so many bytes. */
export async function roomForCopy(stateDir: string, bytes: number): Promise<void> {
  const folder = copiesFolder(stateDir);
  await makeFolder(folder, 0o700);
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= ROOM * bytes) return;
  const message = `${folder} has ${describeBytes(bavail * bsize)} free: too little for a copy of ${describeBytes(bytes)} to be made by itself`;
  throw new StatusError("ServiceUnavailable", message);
}
