import { lstatSync, type Stats, statSync } from "node:fs";

/** What something in a folder is, for messages: `a folder`, `a FIFO`. */
export function fileKind(info: Stats): string {
  if (info.isFile()) return "a regular file";
  if (info.isDirectory()) return "a folder";
  if (info.isSymbolicLink()) return "a symbolic link";
  if (info.isFIFO()) return "a FIFO";
  return info.isSocket() ? "a socket" : "a device";
}

/** Something of another kind is where a file or a folder is to be. */
export class FileKindError extends Error {
  override readonly name = "FileKindError";
  /** What an operator can do about it. */
  readonly hint: string;

  constructor(path: string, { is, wanted, hint }: { is: string; wanted: string; hint: string }) {
    super(`${path} is ${is}, not ${wanted}`);
    this.hint = hint;
  }
}

/** What is expected at a path, if there is anything. */
export interface ExpectedKind {
  path: string;
  kind: "file" | "folder";
  /** What an operator does where something else is there. */
  hint: string;
}

/**
 * Throws FileKindError where something of another kind is there, or a symbolic link leads to it. For who is about to open
 * it: opening a FIFO waits for a writer that never comes, LMDB ends the process over a folder, and reading one fails without
 * its path.
 */
export function requireKind({ path, kind, hint }: ExpectedKind): void {
  const info = present(path);
  if (info === undefined || (kind === "file" ? info.isFile() : info.isDirectory())) return;
  const wanted = kind === "file" ? "a regular file" : "a folder";
  throw new FileKindError(path, { is: fileKind(info), wanted, hint });
}

function present(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Below a file there is nothing either; who needs a folder there refuses the file.
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ELOOP") return lstatSync(path);
    throw error;
  }
}
