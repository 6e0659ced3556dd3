import { access, constants, lstat, rm, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { makeFolder, naming, replaceFile } from "@mooring/store";
import { CommandError } from "../output/command-error.ts";

/** `--ready-file`: what shows others that everything is ready. */
interface ReadyFile {
  /**
   * Takes the one of an earlier life away, which would say that this one is ready. Only for who has the state folder:
   * else it may be that of a process which runs.
   */
  clear(): Promise<void>;
  /** One line of JSON. */
  write(content: object): Promise<void>;
}

/** Pipes and devices stay as they are. */
async function isOurs(path: string): Promise<boolean> {
  const present = await lstat(path).catch(() => undefined);
  if (present?.isDirectory() === true) throw new Error("it is a folder");
  return present === undefined || present.isFile();
}

/** Before anything starts: the file can be written. Throws CommandError. */
async function check(path: string): Promise<void> {
  const folder = dirname(resolve(path));
  try {
    await makeFolder(folder);
    if (await isOurs(path)) await access(folder, constants.W_OK);
  } catch (cause) {
    const { message } = cause as Error;
    throw new CommandError(`--ready-file ${path} cannot be written: ${message}`, {
      next: "name a file in a folder that can be written to",
      cause,
    });
  }
}

/** Throws CommandError for one that cannot be written. */
export async function readyFile(path: string | undefined): Promise<ReadyFile> {
  if (path === undefined) return { clear: async () => {}, write: async () => {} };
  await check(path);
  return {
    clear: async () => {
      if (await isOurs(path)) await rm(path, { force: true });
    },
    write: async (content) => {
      const line = `${JSON.stringify(content)}\n`;
      if (!(await isOurs(path))) return naming(path, () => writeFile(path, line));
      // Who waits for the file reads all of it as soon as it is there.
      await replaceFile(path, line, 0o666);
    },
  };
}
