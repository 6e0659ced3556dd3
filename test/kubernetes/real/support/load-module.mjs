// Flows are run as they are; what is typed has to be made a program first.
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { AS_PROGRAM } from "../../../../scripts/lib/bundle.mjs";

/** What a module in TypeScript exports. `source`: its URL; `folder`: the program that is made of it is kept there. */
export async function loadModule(source, folder) {
  const { build } = await import("esbuild");
  const entry = fileURLToPath(source);
  const outfile = join(folder, `${basename(entry, ".ts")}.mjs`);
  await build({ ...AS_PROGRAM, entryPoints: [entry], outfile });
  return import(pathToFileURL(outfile).href);
}
