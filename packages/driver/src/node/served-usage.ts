import { CsiError } from "@mooring/csi";
import { type Exec, type FilesystemUsage, filesystemUsageApart } from "@mooring/engine";
import { withTimeLimit } from "@mooring/store";

/** A server that is asked for a few numbers, and is there, responds in much less. */
const PATIENCE_MS = 5000;

/**
 * Reads how full file systems are that other nodes serve. Their mounts are hard: while the server is silent, a process that
 * reads waits, and may not even be killed. So a program reads, one per path at a time, and the RPC does not wait for it for
 * long.
 */
export class ServedUsage {
  readonly #exec: Exec;
  readonly #asked = new Map<string, Promise<FilesystemUsage>>();

  constructor(exec: Exec) {
    this.#exec = exec;
  }

  /** Throws UNAVAILABLE when the file system does not respond in time. */
  async of(path: string): Promise<FilesystemUsage> {
    const asked = this.#asked.get(path) ?? this.#ask(path);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(stuck(path)), PATIENCE_MS);
    });
    try {
      return await Promise.race([asked, late]);
    } catch (error) {
      throw error instanceof DOMException && error.name === "TimeoutError" ? stuck(path) : error;
    } finally {
      clearTimeout(timer);
    }
  }

  #ask(path: string): Promise<FilesystemUsage> {
    const asked = filesystemUsageApart(this.#exec, path, withTimeLimit(PATIENCE_MS)).finally(() =>
      this.#asked.delete(path),
    );
    this.#asked.set(path, asked);
    return asked;
  }
}

function stuck(path: string): CsiError {
  return CsiError.unavailable(
    `the file system at ${path} has not responded for ${PATIENCE_MS / 1000} s: the server of the volume is not reachable, or is being started again`,
    {
      hint: "The volume's ShareManager names the node that serves it; programs that use the volume wait for it.",
    },
  );
}
