import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** The runner of the tests has made it. */
export const MOORING: string = fileURLToPath(new URL("../../../../dist/mooring.mjs", import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  /** Undefined takes a variable away. */
  env?: Readonly<Record<string, string | undefined>>;
  /** What the command runs under, such as `setpriv`. */
  under?: readonly string[];
}

/** Root without the privileges of root: modes of files count. */
export const UNPRIVILEGED = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] as const;

/** A user that is in no passwd, who may read this checkout wherever it is. */
export const NAMELESS = [
  ...["setpriv", "--reuid=54321", "--clear-groups"],
  ...["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"],
] as const;

/** Runs `mooring ARGS` to its end. */
export async function mooring(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  const [command = "", ...rest] = [...(options.under ?? []), process.execPath, MOORING, ...args];
  const child = spawn(command, rest, {
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}
