import { existsSync } from "node:fs";
import { join } from "node:path";
import { createHost, findLeaks } from "@mooring/engine";
import type { ObjectStore } from "@mooring/store";
import { Command } from "commander";
import { type Check, check } from "../doctor/check.ts";
import { kubeletMounts } from "../doctor/kubelet-mounts.ts";
import { machineChecks } from "../doctor/machine-checks.ts";
import { objectChecks } from "../doctor/object-checks.ts";
import { EXIT } from "../output/exit-codes.ts";
import { table } from "../output/table.ts";
import { openClient } from "./client.ts";

interface DoctorOptions {
  stateDir: string;
  kubeconfig?: string;
  json?: boolean;
}

async function reach(kubeconfig: string): Promise<ObjectStore | Check> {
  try {
    const store = await openClient({ kubeconfig });
    await objectChecks(store, new Date());
    return store;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return check(
      "API server",
      "warn",
      `not reachable, objects were not looked at: ${message}`,
      "start it with `mooring up`",
    );
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

async function doctor(options: DoctorOptions): Promise<void> {
  const checks = await machineChecks();
  const kubeconfig = options.kubeconfig ?? join(options.stateDir, "kubeconfig");
  if (existsSync(kubeconfig)) {
    const store = await reach(kubeconfig);
    if ("check" in store) checks.push(store);
    else checks.push(...(await objectChecks(store, new Date())), ...(await leaks(store, options.stateDir)));
  } else {
    checks.push(
      check(
        "state",
        "warn",
        `${kubeconfig} does not exist, so only the machine was looked at`,
        "start `mooring up`, or pass --state-dir",
      ),
    );
  }
  if (options.json) process.stdout.write(`${JSON.stringify(checks, null, 2)}\n`);
  else {
    process.stdout.write(
      table(
        ["CHECK", "STATE", "DETAIL"],
        checks.map((entry) => [entry.check, entry.state, entry.detail]),
      ),
    );
    for (const entry of checks)
      if (entry.next !== undefined) process.stdout.write(`next: ${entry.check}: ${entry.next}\n`);
  }
  if (checks.some((entry) => entry.state === "fail")) process.exitCode = EXIT.negative;
}

/** `mooring doctor`: what is wrong with the machine, the objects and what lies between them. */
export function doctorCommand(): Command {
  return new Command("doctor")
    .description("look for leaks, drift, stuck objects and missing prerequisites")
    .option("--state-dir <folder>", "state folder of `mooring up`", "/var/lib/mooring")
    .option("--kubeconfig <file>", "how to reach the API server (default: the state folder's)")
    .option("--json", "print the checks as JSON")
    .action(doctor);
}
