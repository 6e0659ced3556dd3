import { readFile } from "node:fs/promises";
import { eventually } from "../../support/eventually.ts";
import { command, tried } from "./command.ts";

interface Loop {
  name: string;
  "maj:min": string;
  "back-file": string;
  "back-maj:min": string;
  autoclear: boolean;
}

async function loops(): Promise<Loop[]> {
  const columns = "NAME,MAJ:MIN,BACK-FILE,BACK-MAJ:MIN,AUTOCLEAR";
  const listed = await command("losetup", "--list", "--json", "--output", columns);
  return (JSON.parse(listed || '{"loopdevices":[]}') as { loopdevices: Loop[] }).loopdevices;
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

/**
 * Detaches these later, as they are now: a device number that has been given to somebody else meanwhile is left alone.
 */
export async function detachLater(devices: readonly string[]): Promise<() => Promise<void>> {
  const sequence = (device: string) =>
    readFile(`/sys/block/${device.replace("/dev/", "")}/diskseq`, "utf8").catch(() => "");
  const known = await Promise.all(devices.map(async (device) => ({ device, is: await sequence(device) })));
  return async () => {
    for (const { device, is } of known) {
      if ((await sequence(device)) === is) await tried("losetup", "--detach", device);
    }
  };
}

/**
 * Detaches them all, those on top first. One that goes with its last user is as good as gone: containers of other
 * tests that have just started keep copies of this machine's mounts for as long as they run.
 */
export async function detachBelow(folder: string): Promise<void> {
  await eventually(`loop devices of ${folder} to be gone`, async () => {
    for (const { name } of await loopsBelow(folder)) await tried("losetup", "--detach", name);
    return (await loopsBelow(folder)).every(({ autoclear }) => autoclear);
  });
}
