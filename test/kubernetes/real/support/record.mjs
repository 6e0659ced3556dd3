// What the parts of a step have shown of requirements, kept for docs/conformance.md: `npm run test:kubernetes -- --record`.
import { readFile, writeFile } from "node:fs/promises";
import { ON_KUBERNETES, revision } from "../../../../scripts/lib/tests/record.mjs";
import { KUBERNETES } from "./components.mjs";
import { recordRights } from "./used-rights.mjs";

/**
 * Runs a step and keeps what it has shown, also when it fails: what it did not come to is proved no more. Other steps' results stay
 * as they are. `folder`: of this run. `work` returns the rights that were used, which are recorded when it succeeds.
 */
export async function recorded(name, folder, work) {
  const file = `${folder}/proved-${name.replaceAll(" ", "-")}`;
  await writeFile(file, "");
  const at = await revision();
  process.env.MOORING_PROVED = file;
  let passed = false;
  try {
    const used = await work();
    passed = true;
    await recordRights(name, { at: new Date().toISOString(), ...at, used });
    return used;
  } finally {
    delete process.env.MOORING_PROVED;
    await keep(name, { at: new Date().toISOString(), ...at, passed, ...shown(await readFile(file, "utf8")) });
  }
}

/** Lines of ./report.mjs: `proofs`, and `counts` of a step that has kept some. */
export function shown(text) {
  const lines = text.split("\n").filter((line) => line !== "");
  const read = lines.map((line) => JSON.parse(line));
  const counts = read.find((line) => line.counts !== undefined);
  return { ...counts, proofs: read.filter((line) => line !== counts) };
}

async function keep(name, result) {
  const before = JSON.parse(await readFile(ON_KUBERNETES, "utf8").catch(() => '{"steps":{}}'));
  await writeFile(ON_KUBERNETES, format({ ...before.steps, [name]: result }));
}

/** One proof a line, so that changes can be read. */
export function format(steps) {
  const parts = Object.entries(steps)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, { proofs, ...head }]) => {
      const lines = proofs.map((proof) => `    ${JSON.stringify(proof)}`);
      return `  ${JSON.stringify(name)}: {${JSON.stringify(head).slice(1, -1)}, "proofs": [\n${lines.join(",\n")}\n  ]}`;
    });
  return `{"version": ${JSON.stringify(KUBERNETES)}, "steps": {\n${parts.join(",\n")}\n}}\n`;
}
