import { access, constants, lstat, rm, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { makeFolder } from "@mooring/store";
import { CommandError } from "../output/command-error.ts";

/**
 * Before anything starts: the file can be written, and the one of an earlier life is gone, which would say that this one
 * is ready. Pipes and devices stay as they are. Throws CommandError.
 */
async function prepare(path: string): Promise<void> {
  const folder = dirname(resolve(path));
  try {
    await makeFolder(folder);
    const present = await lstat(path).catch(() => undefined);
    if (present?.isDirectory() === true) throw new Error("it is a folder");
    if (present !== undefined && !present.isFile()) return;
    await access(folder, constants.W_OK);
    await rm(path, { force: true });
  } catch (cause) {
    const { message } = cause as Error;
    throw new CommandError(`--ready-file ${path} cannot be written: ${message}`, {
      next: "name a file in a folder that can be written to",
      cause,
    });
  }
}

/** `--ready-file`; what it gives writes the file, as one line of JSON, when everything is ready. */
export async function readyFile(path: string | undefined): Promise<(content: object) => Promise<void>> {
  if (path === undefined) return async () => {};
  await prepare(path);
  return (content) => writeFile(path, `${JSON.stringify(content)}\n`);
}
