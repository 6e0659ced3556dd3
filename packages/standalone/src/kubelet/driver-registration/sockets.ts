import { watch } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

/** What is in the folder, by file name: what tells a socket from an earlier one of its name. */
export type FoundSockets = ReadonlyMap<string, string>;

/** The sockets of the folder. What begins with a dot is not there yet, as for upstream's kubelet. */
export async function socketsIn(folder: string): Promise<FoundSockets> {
  const found = new Map<string, string>();
  for (const name of await readdir(folder)) {
    if (name.startsWith(".")) continue;
    const info = await lstat(join(folder, name), { bigint: true }).catch(() => undefined);
    if (info?.isSocket() !== true) continue;
    // Inodes are used again; the time of a socket's bind is never changed.
    found.set(name, `${info.ino}:${info.mtimeNs}`);
  }
  return found;
}

/** Reads the folder now, and whenever something in it changes, until the signal; never twice at the same time. */
export async function followSockets(
  folder: string,
  seen: (sockets: FoundSockets) => void,
  signal: AbortSignal,
): Promise<{ done: Promise<void> }> {
  let reading: Promise<void> | undefined;
  let again = false;
  let failed: (error: unknown) => void = () => {};
  const read = async (): Promise<void> => {
    do {
      again = false;
      const sockets = await socketsIn(folder);
      if (!signal.aborted) seen(sockets);
    } while (again);
  };
  const changed = (): void => {
    again = true;
    reading ??= read()
      .catch((error: unknown) => failed(error))
      .finally(() => {
        reading = undefined;
      });
  };
  // Before the first reading: what comes during it is read again.
  const watcher = watch(folder, changed);
  const done = new Promise<void>((resolve, reject) => {
    failed = reject;
    watcher.once("error", reject);
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  }).finally(async () => {
    watcher.close();
    await reading;
  });
  done.catch(() => {});
  changed();
  await reading;
  return { done };
}
