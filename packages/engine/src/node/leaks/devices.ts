import type { Host, LoopDevice } from "../../host/host.ts";
import type { Leak } from "./leak.ts";
import { type KnownPool, mayBeOpen, type ReadRecords, type Records } from "./records.ts";

/** Loop devices of files below our folders that no attached volume and no pool explains. */
export async function leakedDevices(
  host: Host,
  pools: readonly KnownPool[],
  stateDir: string,
  read: ReadRecords,
): Promise<Leak[]> {
  const ours = [stateDir, ...pools.map(({ layout }) => layout.folder)];
  const loops = (await host.loops.list()).filter((loop) =>
    ours.some((folder) => loop.backingFile.startsWith(`${folder}/`)),
  );
  const records = await read();
  const suspects = loops.filter((loop) => !isExplained(loop, pools, records));
  if (suspects.length === 0) return [];
  // Detached meanwhile, or attached for a volume that was just asked for?
  const [again, now] = [await host.loops.list(), await read()];
  return suspects
    .filter((loop) => again.some((l) => l.path === loop.path && l.backingFile === loop.backingFile))
    .filter((loop) => !isExplained(loop, pools, now))
    .map((loop) => ({
      kind: "device-without-volume" as const,
      subject: loop.path,
      message: `${loop.path} shows ${loop.backingFile}, which no attached volume explains`,
      fix: `if nothing uses it: losetup -d ${loop.path}`,
    }));
}

function isExplained(loop: LoopDevice, pools: readonly KnownPool[], { volumes }: Records): boolean {
  if (pools.some(({ layout }) => layout.backing?.file === loop.backingFile)) return true;
  const id = /\/(v-[a-z0-9-]+)\.img$/.exec(loop.backingFile)?.[1];
  return id !== undefined && mayBeOpen(volumes.get(id));
}
