import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { statesPage } from "../../packages/engine/src/simulation/states/page.ts";
import { ROOT } from "./setup.mjs";

const PAGE = join(ROOT, "docs/reference/attachment-states.md");
const page = statesPage();
if (!process.argv.includes("--check")) {
  await writeFile(PAGE, page);
} else if ((await readFile(PAGE, "utf8").catch(() => "")) !== page) {
  process.stderr.write("docs/reference/attachment-states.md is out of date. Next: npm run conformance\n");
  process.exit(1);
}
