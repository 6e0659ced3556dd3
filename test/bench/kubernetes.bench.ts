import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildPrograms, programFolder } from "../kubernetes/real/support/components.mjs";
import { compare, DEFAULTS, TUNED } from "./kubernetes/compare.ts";
import { runLarge, runSide } from "./kubernetes/rounds.ts";
import { isWithoutSidecars, MOORING, sidecars, withoutSidecars } from "./kubernetes/sides.ts";
import { FEWER, SIZES } from "./kubernetes/sizes.ts";
import type { Measurement } from "./measure.ts";

const PROGRAMS = ["etcd", "kube-apiserver"];

/** The programs of a real API server take minutes to build. */
export function missing(): string | undefined {
  const absent = PROGRAMS.filter((name) => !existsSync(join(programFolder(), name)));
  if (absent.length === 0) return undefined;
  return `${absent.join(" and ")} not in ${programFolder()}; "npm run bench kubernetes" builds them`;
}

/**
 * The control plane around a driver that takes no time, on a real API server: what it asks for, and what it uses. The same in a
 * large cluster; and beside it, one after the other, the sidecars of the Kubernetes project, where they are there.
 */
export async function run(): Promise<Measurement[]> {
  const bin = await buildPrograms(PROGRAMS);
  // The binder's and the driver's part is played by this process, which is slower at first: not for one side only.
  process.stderr.write("  a first round, of which no figure counts:\n");
  await runSide(bin, MOORING, FEWER);
  const small = await runSide(bin, MOORING, SIZES);
  const ours = [...small, ...(await runLarge(bin, small))];
  if (isWithoutSidecars()) {
    process.stderr.write(`${withoutSidecars()}\n`);
    return ours;
  }
  const beside = [];
  for (const [side, sizes, most] of [
    [sidecars(true), SIZES, TUNED],
    [sidecars(false), FEWER, DEFAULTS],
  ] as const) {
    const theirs = await runSide(bin, side, sizes);
    beside.push(...compare(small, { theirs, baselineName: side.name, most }));
  }
  return [...ours, ...beside];
}
