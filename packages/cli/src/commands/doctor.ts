import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { createHost, findLeaks, Volumes } from "@mooring/engine";
import { AccessError, type ObjectStore, RestStore } from "@mooring/store";
import { Command } from "commander";
import { type Check, check } from "../doctor/check.ts";
import { checksOrFailure } from "../doctor/checks-or-failure.ts";
import { diskChecks } from "../doctor/disk-checks.ts";
import { kubeletMounts } from "../doctor/kubelet-mounts.ts";
import { machineChecks } from "../doctor/machine-checks.ts";
import { objectChecks } from "../doctor/object-checks.ts";
import { readinessChecks } from "../doctor/readiness-checks.ts";
import { rightsChecks } from "../doctor/rights-checks.ts";
import { stateChecks } from "../doctor/state-check.ts";
import { colored } from "../output/color.ts";
import { EXIT } from "../output/exit-codes.ts";
import { type Output, print, withOutput } from "../output/print.ts";
import { describeError } from "../output/report-error.ts";
import { table } from "../output/table.ts";

interface DoctorOptions extends Output {
  stateDir: string;
  kubeconfig?: string;
  namespace: string;
}

/**
 * What the objects are read with, or why they cannot be. What the user has named has to be there; a standalone server may
 * just not run.
 */
async function reach({ kubeconfig: named, stateDir }: DoctorOptions): Promise<RestStore | Check> {
  const kubeconfig = named ?? join(stateDir, "kubeconfig");
  try {
    const store = await RestStore.fromKubeconfig(kubeconfig);
    await store.list(Volumes, { limit: 1 }).catch(async (error: unknown) => {
      // It responds, and says itself why it cannot respond with objects.
      if ((await readinessChecks(store).catch(() => [])).length === 0) throw error;
    });
    return store;
  } catch (error) {
    const { message, next } = describeError(error);
    if (named !== undefined) return check("API server", "fail", message, next);
    if (!(error instanceof AccessError && error.code === "ENOENT"))
      return check("API server", "warn", `objects were not checked: ${message}`, next);
    const missing = `${kubeconfig} does not exist, so only the machine was checked`;
    return check("state", "warn", missing, "start `mooring up`, or pass --state-dir or --kubeconfig");
  }
}

async function leaks(store: ObjectStore, stateDir: string): Promise<Check[]> {
  const explainMount = await kubeletMounts(store, stateDir);
  const found = await findLeaks({ store, host: createHost(), stateDir, explains: explainMount });
  if (found.length === 0) return [check("leaks", "ok", "no image, loop device or mount without its record")];
  return found.map((leak) =>
    check(`leak: ${leak.kind}`, "fail", `${leak.subject}: ${leak.message}`, leak.fix),
  );
}

function renderChecks(checks: readonly Check[]): string {
  const rows = checks.map((entry) => [entry.check, entry.state, entry.detail]);
  const steps = checks.flatMap(({ check: name, next }) =>
    next === undefined ? [] : [`next: ${name}: ${next}\n`],
  );
  const color = (line: string, row: number) => colored(checks[row]?.state ?? "ok", line);
  return table(["CHECK", "STATE", "DETAIL"], rows, color) + steps.join("");
}

async function doctor(given: DoctorOptions): Promise<void> {
  // Mounts and devices have the paths that a link leads to.
  const stateDir = await realpath(given.stateDir).catch(() => given.stateDir);
  const options = { ...given, stateDir };
  const checks = [...(await machineChecks()), ...(await diskChecks(options.stateDir))];
  checks.push(...(await checksOrFailure("store", stateChecks(options.stateDir))));
  const store = await reach(options);
  if ("check" in store) checks.push(store);
  else {
    checks.push(...(await checksOrFailure("API server", readinessChecks(store))));
    checks.push(...(await checksOrFailure("objects", objectChecks(store, new Date()))));
    checks.push(...(await checksOrFailure("rights", rightsChecks(store, options.namespace))));
    checks.push(...(await checksOrFailure("leaks", leaks(store, options.stateDir))));
  }
  print(options, checks, () => renderChecks(checks));
  if (checks.some((entry) => entry.state === "fail")) process.exitCode = EXIT.negative;
}

/** `mooring doctor`: what is wrong with the machine, the objects and what lies between them. */
export function doctorCommand(): Command {
  const command = new Command("doctor")
    .description("find leaks, drift, stuck objects and missing prerequisites")
    .option("--state-dir <folder>", "state folder of `mooring up`", "/var/lib/mooring")
    .option("--kubeconfig <file>", "how to reach the API server (default: the state folder's)")
    .option("--namespace <name>", "in a cluster: where Mooring's service accounts are", "mooring");
  return withOutput(command, { what: "the checks" }).action(doctor);
}
