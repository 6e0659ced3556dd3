import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { thorough } from "@mooring/store/testing";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What the examples are given by the program around them. */
const AROUND = `import type { Logger, ObjectStore } from "@mooring/store";
declare global {
  const store: ObjectStore;
  const logger: Logger;
  const signal: AbortSignal;
}
`;

const CONFIG = {
  extends: join(ROOT, "tsconfig.base.json"),
  compilerOptions: {
    ...{ noEmit: true, composite: false, declaration: false, rewriteRelativeImportExtensions: false },
    // An example shows how; what becomes of the result is the reader's.
    ...{ noUnusedLocals: false, types: ["node"], typeRoots: [join(ROOT, "node_modules/@types")] },
    // The package whose sources need them has them.
    ...{ erasableSyntaxOnly: false, lib: ["ES2023", "ES2024.String", "ESNext.Disposable"] },
  },
  include: ["*.ts"],
};

async function examplesOf(readme: string): Promise<string[]> {
  const text = await readFile(readme, "utf8");
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
}

test("the examples of the packages' pages compile", thorough(), async () => {
  await mkdir(join(ROOT, ".cache"), { recursive: true });
  const folder = await mkdtemp(join(ROOT, ".cache", "examples-"));
  try {
    let found = 0;
    for (const name of await readdir(join(ROOT, "packages"))) {
      const examples = await examplesOf(join(ROOT, "packages", name, "README.md")).catch(() => []);
      for (const [at, code] of examples.entries())
        await writeFile(join(folder, `${name}-${at}.ts`), `${code}\nexport {};\n`);
      found += examples.length;
    }
    assert.ok(found > 5, `${found} examples`);
    await writeFile(join(folder, "around.d.ts"), AROUND);
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(CONFIG));
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    const compiled = await promisify(execFile)(tsc, ["-p", folder]).catch(
      ({ stdout }: { stdout: string }) => ({ stdout }),
    );
    assert.equal(compiled.stdout, "");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
