import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { programFolder } from "./real/support/components.mjs";

/** `MOORING_SIDECARS_BIN` names the folder; default: where Kubernetes' own programs are. */
const sidecarFolder = (): string => process.env["MOORING_SIDECARS_BIN"] ?? programFolder();

/** Those of these sidecars of the Kubernetes project that are not there. */
export function missingSidecars(names: readonly string[]): string[] {
  return names.filter((name) => !existsSync(join(sidecarFolder(), name)));
}

/** What to do when {@link missingSidecars} are some. */
export function sidecarsAdvice(names: readonly string[]): string {
  return (
    `${missingSidecars(names).join(", ")} not in ${sidecarFolder()}; ` +
    "build them from github.com/kubernetes-csi (Go), and name their folder in MOORING_SIDECARS_BIN"
  );
}

/** A sidecar that runs. */
export interface Sidecar {
  pid: number;
  /** Rejects when it had ended before. */
  end(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** `env`: in addition to this process' own. */
export function startSidecar(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Sidecar {
  const child: ChildProcess = spawn(join(sidecarFolder(), name), args, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, ...env },
  });
  let output = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    output = `${output}${chunk.toString()}`.slice(-2_000);
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return {
    pid: child.pid ?? 0,
    async end(signal = "SIGKILL"): Promise<void> {
      const wasAlive = child.exitCode === null && child.signalCode === null;
      child.kill(signal);
      await ended;
      if (!wasAlive) throw new Error(`${name} has ended with ${child.exitCode}: ${output}`);
    },
  };
}
