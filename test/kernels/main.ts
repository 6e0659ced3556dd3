// Nodes with kernels of their own, each with its own client of one Ceph cluster: moves, power cuts, pauses.
import { parseArgs } from "node:util";
import { machineRemains } from "../support/remains.ts";
import { checks } from "./checks.ts";
import { Kernels } from "./kernels.ts";
import { NODES, seconds } from "./proof.ts";

const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    rounds: { type: "string" },
    snapshots: { type: "string" },
    only: { type: "string", default: "" },
  },
});
const { short } = values;
const amounts = {
  rounds: Number(values.rounds ?? (short ? 1 : 10)),
  snapshots: Number(values.snapshots ?? (short ? 2 : 10)),
  groups: short ? [2] : [2, 8],
};

const say = (line: string) => process.stdout.write(`${line}\n`);

let passed = 0;
let failed = 0;
let kernels: Kernels | undefined;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, async () => {
    await kernels?.dispose();
    process.exit(1);
  });
}
let folder = "";
try {
  const started = performance.now();
  kernels = await Kernels.start(NODES);
  folder = kernels.folder;
  say(`     a cluster and two kernels: ${seconds(started)}`);
  for (const [title, check] of Object.entries(checks(amounts))) {
    if (!new RegExp(values.only).test(title)) continue;
    const began = performance.now();
    const seen = await check(kernels, (line) => say(`     ${line}`)).catch((cause: unknown) => {
      throw new Error(title, { cause });
    });
    say(`ok   ${title} (${seen}) ${seconds(began)}`);
    passed++;
  }
} catch (error) {
  // What a failed check has left would be in the way of the next.
  failed++;
  const { message, cause } = error as Error;
  say(`FAIL ${message}${cause === undefined ? "" : `\n${(cause as Error).stack ?? cause}`}`);
  say(kernels?.logs() ?? "");
  say((await kernels?.states()) ?? "");
} finally {
  await kernels?.dispose();
}
const left = folder === "" ? [] : await machineRemains(folder);
if (left.length > 0) {
  failed++;
  say(`FAIL nothing is left behind:\n${left.join("\n")}`);
}
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
