import { fstatSync, readdirSync, statSync } from "node:fs";
import koffi from "koffi";

/** <fcntl.h>: the same numbers on every architecture of Linux. */
const F_SETFD = 2;
const FD_CLOEXEC = 1;

let loaded: ReturnType<ReturnType<typeof koffi.load>["func"]> | undefined;
/** Looked up when it is needed: most of what imports this never opens a store. */
const fcntl = (fd: number, command: number, value: number): number => {
  loaded ??= koffi.load(null).func("int fcntl(int fd, int command, ...)");
  return loaded(fd, command, "int", value) as number;
};

/**
 * Keeps our descriptors of a file from every program that is started from now on. LMDB leaves the one of its data open for
 * them on purpose; a container that has it can write whatever it likes into every object, past the API server.
 *
 * Without a wait, so that nothing can be started between the open and this. Throws when a descriptor stays as it was.
 */
export function closeOnExec(path: string): void {
  const { dev, ino } = statSync(path, { bigint: true });
  for (const fd of readdirSync("/proc/self/fd").map(Number)) {
    if (!isOpenOn(fd, dev, ino)) continue;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) !== 0) {
      throw new Error(`descriptor ${fd} of ${path} cannot be kept from programs that are started`);
    }
  }
}

function isOpenOn(fd: number, dev: bigint, ino: bigint): boolean {
  try {
    const info = fstatSync(fd, { bigint: true });
    return info.dev === dev && info.ino === ino;
  } catch {
    // That of the listing itself, by now.
    return false;
  }
}
