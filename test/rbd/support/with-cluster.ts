/**
 * Runs a command while a Ceph cluster is there, for programs that start none: `with-cluster.ts COMMAND...`. The command finds in
 * `MOORING_RBD` what follows a pool's name in `--rbd-pool`. Ends with the command's exit code, and with 3 where no cluster can be had: without a
 * command it only looks whether one can, and starts none.
 */
import { startCeph, withCeph } from "../../../packages/store/src/testing/index.ts";
import { run } from "../../../scripts/lib/run.mjs";
import { rbdSettings } from "./settings.ts";

process.env["MOORING_TESTS"] ??= "all";
const [program, ...args] = process.argv.slice(2);
const { skip } = await withCeph();
if (skip !== false) {
  process.stderr.write(`${skip}\n`);
  process.exit(3);
}
if (program === undefined) process.exit(0);
const undo: (() => Promise<void>)[] = [];
try {
  const ceph = await startCeph((step) => undo.push(step));
  const env = { ...process.env, MOORING_RBD: await rbdSettings(ceph) };
  process.exitCode = await run(program, args, { env });
} finally {
  for (const step of undo) await step();
}
