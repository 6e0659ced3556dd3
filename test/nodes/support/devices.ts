import { readdir, readFile } from "node:fs/promises";
import { basename } from "node:path";
import { eventually } from "@mooring/store/testing";
import { command, tried } from "./command.ts";

interface Loop {
  name: string;
  "maj:min": string;
  "back-file": string;
  "back-maj:min": string;
  autoclear: boolean;
  /** As it was when we read it: distinguishes this use of the number from the next one. */
  sequence: string;
}

/** Changes whenever the number of a device is given to another user. */
const sequenceOf = (device: string): Promise<string> =>
  readFile(`/sys/block/${basename(device)}/diskseq`, "utf8").catch(() => "");

async function loops(): Promise<Loop[]> {
  // Before the list is made: a device that gets another owner meanwhile is not known by its sequence.
  const names = (await readdir("/sys/block")).filter((name) => name.startsWith("loop"));
  const known = new Map<string, string>();
  for (const name of names) known.set(`/dev/${name}`, await sequenceOf(name));
  const columns = "NAME,MAJ:MIN,BACK-FILE,BACK-MAJ:MIN,AUTOCLEAR";
  const listed = await command("losetup", "--list", "--json", "--output", columns);
  const { loopdevices } = JSON.parse(listed || '{"loopdevices":[]}') as { loopdevices: Loop[] };
  return loopdevices.map((loop) => ({ ...loop, sequence: known.get(loop.name) ?? "" }));
}

/**
 * Loop devices of files below the folder, and of files on those. A machine that lost its power leaves them to the
 * kernel that it shared; once its mounts are gone, the paths of its images are cut off at what was mounted.
 */
async function loopsBelow(folder: string): Promise<Loop[]> {
  const all = await loops();
  const own = all.filter((loop) => (loop["back-file"] ?? "").startsWith(`${folder}/`));
  const numbers = new Set(own.map((loop) => loop["maj:min"].trim()));
  const nested = all.filter(
    (loop) => numbers.has((loop["back-maj:min"] ?? "").trim()) && !own.includes(loop),
  );
  return [...nested, ...own];
}

export async function devicesBelow(folder: string): Promise<string[]> {
  return (await loopsBelow(folder)).map(({ name }) => name);
}

/** A device number that has been given to another user meanwhile is left alone. */
async function detach(found: readonly Loop[]): Promise<void> {
  for (const { name, sequence } of found) {
    if ((await sequenceOf(name)) === sequence) await tried("losetup", "--detach", name);
  }
}

/** Detaches later what is below the folder now. */
export async function detachLater(folder: string): Promise<() => Promise<void>> {
  const found = await loopsBelow(folder);
  return () => detach(found);
}

/**
 * Detaches them all, those on top first. One that goes with its last user is as good as gone: containers of other
 * tests that have just started keep copies of this machine's mounts for as long as they run.
 */
export async function detachBelow(folder: string): Promise<void> {
  await eventually(`loop devices of ${folder} to be gone`, async () => {
    await detach(await loopsBelow(folder));
    return (await loopsBelow(folder)).every(({ autoclear }) => autoclear);
  });
}
