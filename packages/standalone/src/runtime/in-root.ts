import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readlink } from "node:fs/promises";
import { childPath, O_PATH, openChild } from "./open-child.ts";

const MOST_LINKS = 40;

/** Where a walk came to. */
interface Found {
  /** The last that is there: the target itself when nothing is missing. */
  handle: FileHandle;
  /** Path of that in the root, with no link in it. */
  inside: string;
  /** Names that follow and are not there. */
  missing: readonly string[];
}

/**
 * Walks a path as a process would whose root is `root`, from open folder to open folder: a program that can write there may
 * turn any part of it into a link at any moment, and still nothing outside of it is reached.
 */
async function walk<T>(root: string, path: string, use: (found: Found) => Promise<T>): Promise<T> {
  const handles = [await open(root, O_PATH | constants.O_DIRECTORY)];
  const names: string[] = [];
  const back = async (length: number) => {
    while (handles.length > length) await handles.pop()?.close();
    names.length = length - 1;
  };
  const top = () => handles[handles.length - 1] as FileHandle;
  try {
    const todo = partsOf(path);
    for (let links = 0; todo.length > 0; ) {
      const part = todo.shift() as string;
      if (part === "..") {
        await back(Math.max(1, handles.length - 1));
        continue;
      }
      const next = await openChild(top(), part);
      if (next === undefined) {
        if (todo.includes("..")) throw new Error(`${path}: ${part} is not there`);
        return await use({ handle: top(), inside: `/${names.join("/")}`, missing: [part, ...todo] });
      }
      handles.push(next);
      names.push(part);
      if (!(await next.stat()).isSymbolicLink()) continue;
      await back(handles.length - 1);
      links += 1;
      if (links > MOST_LINKS) throw new Error(`${path}: too many levels of symbolic links`);
      const link = await readlink(childPath(top(), part));
      if (link.startsWith("/")) await back(1);
      todo.unshift(...partsOf(link));
    }
    return await use({ handle: top(), inside: `/${names.join("/")}`, missing: [] });
  } finally {
    for (const handle of handles) await handle.close();
  }
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

/** Makes a folder or an empty file in a root where there is none, and returns its path there without links. */
export async function makeInRoot(root: string, path: string, kind: "directory" | "file"): Promise<string> {
  return walk(root, path, async ({ handle, inside, missing }) => {
    let folder = handle;
    const opened: FileHandle[] = [];
    try {
      for (const [index, name] of missing.entries()) {
        if (kind === "file" && index === missing.length - 1) {
          const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;
          await open(childPath(folder, name), flags, 0o644).then((file) => file.close(), unless("EEXIST"));
          break;
        }
        // Another mount point of the same container may be on its way.
        await mkdir(childPath(folder, name), { mode: 0o755 }).catch(unless("EEXIST"));
        folder = await open(childPath(folder, name), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
        opened.push(folder);
      }
    } finally {
      for (const each of opened) await each.close();
    }
    return `/${[...partsOf(inside), ...missing].join("/")}`;
  });
}

function unless(code: string): (error: NodeJS.ErrnoException) => void {
  return (error) => {
    if (error.code !== code) throw error;
  };
}

/** The text of a file in a root; undefined when there is none. Refuses what is no plain file, or longer than `bytes`. */
export async function readInRoot(root: string, path: string, bytes: number): Promise<string | undefined> {
  return walk(root, path, async ({ handle, missing }) => {
    if (missing.length > 0) return undefined;
    const info = await handle.stat();
    if (!info.isFile()) throw new Error(`${path} of the image is no file`);
    if (info.size > bytes) throw new Error(`${path} of the image is longer than ${bytes} bytes`);
    const file = await open(`/proc/self/fd/${handle.fd}`, "r");
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  });
}
