import { RbdCommands } from "../commands.ts";
import type { ImportOptions } from "./survey.ts";

/** Runs one command of `rbd` in the pool, which the names of images may be given with. Throws an EngineError when it fails. */
export async function runRbd({ host, place, folder }: ImportOptions, args: readonly string[]): Promise<void> {
  const commands = new RbdCommands({ ...host, place, folder });
  await commands.prepare();
  await commands.rbd(args);
}
