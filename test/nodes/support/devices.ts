import { eventually } from "../../support/eventually.ts";
import { command, tried } from "./command.ts";

interface Loop {
  name: string;
  "maj:min": string;
  "back-file": string;
  "back-maj:min": string;
}

/**
 * Loop devices of files below the folder, and of files on those. A machine that lost its power leaves them to the
 * kernel that it shared; once its mounts are gone, the paths of its images are cut off at what was mounted.
 */
export async function devicesBelow(folder: string): Promise<string[]> {
  const listed = await command(
    "losetup",
    "--list",
    "--json",
    "--output",
    "NAME,MAJ:MIN,BACK-FILE,BACK-MAJ:MIN",
  );
  const { loopdevices: all } = JSON.parse(listed || '{"loopdevices":[]}') as { loopdevices: Loop[] };
  const own = all.filter((loop) => (loop["back-file"] ?? "").startsWith(`${folder}/`));
  const numbers = new Set(own.map((loop) => loop["maj:min"]));
  const nested = all.filter((loop) => numbers.has(loop["back-maj:min"]) && !own.includes(loop));
  return [...nested, ...own].map(({ name }) => name);
}

/** Detaches them all, those on top first. */
export async function detachBelow(folder: string): Promise<void> {
  await eventually(`loop devices of ${folder} to be gone`, async () => {
    const devices = await devicesBelow(folder);
    for (const device of devices) await tried("losetup", "--detach", device);
    return devices.length === 0;
  });
}
