import { execFile } from "node:child_process";
import { mkdir, open, unlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const command = promisify(execFile);

/** What CreateVolume and DeleteVolume do to the disk, by hand: a sparse file that is synced, then gone, durably. */
export async function rawImage(folder: string, name: string, size: number): Promise<void> {
  const path = join(folder, name);
  const file = await open(path, "wx");
  await file.truncate(size);
  await file.sync();
  await file.close();
  await syncFolder(folder);
  await unlink(path);
  await syncFolder(folder);
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  await handle.sync();
  await handle.close();
}

/** A loop device of its own, made with the options of the driver. `release` takes it and its image away. */
export async function rawDevice(
  image: string,
  size: number,
): Promise<{ device: string; release(): Promise<void> }> {
  const file = await open(image, "wx");
  await file.truncate(size);
  await file.close();
  const { stdout } = await command("losetup", ["-f", "--show", "--direct-io=on", "-b", "4096", image]);
  const device = stdout.trim();
  const release = async (): Promise<void> => {
    await command("losetup", ["-d", device]);
    await unlink(image);
  };
  return { device, release };
}

/** What NodeStage and NodePublish do on a new device. Returns how to undo it. */
export async function rawMount(
  device: string,
  staging: string,
  target: string,
): Promise<() => Promise<void>> {
  await command("mkfs.ext4", ["-q", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1", device]);
  await mkdir(staging);
  await command("mount", [device, staging]);
  await mkdir(target);
  await command("mount", ["--bind", staging, target]);
  return async () => {
    await command("umount", [target]);
    await command("umount", [staging]);
  };
}
