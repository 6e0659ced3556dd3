import koffi from "koffi";

/** <linux/falloc.h>: FALLOC_FL_KEEP_SIZE and FALLOC_FL_PUNCH_HOLE. */
const HOLE = 0x01 | 0x02;

type Fallocate = { async(...args: [...number[], (error: Error | null, result: number) => void]): void };
let loaded: Fallocate | undefined;

/**
 * Gives the disk space of the first `length` bytes of an open file back; they are zeros then, and the file is as long as before. In
 * another thread, and without a program: a container may have it done many times a second.
 */
export async function punchHole(fd: number, length: number): Promise<void> {
  loaded ??= koffi
    .load(null)
    .func("int fallocate(int fd, int mode, int64_t offset, int64_t length)") as unknown as Fallocate;
  const { async } = loaded;
  const failed = await new Promise<number>((resolve, reject) =>
    async(fd, HOLE, 0, length, (error, result) => (error === null ? resolve(result) : reject(error))),
  );
  if (failed !== 0) throw new Error("the file system gives no room of a file back while it is in use");
}
