import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

const BUNDLE = fileURLToPath(new URL("../../dist/mooring.mjs", import.meta.url));

/** How a command has ended. */
export interface Ended {
  /** Not a number when it was killed. */
  code: number;
  signal?: NodeJS.Signals;
  stdout: string;
  stderr: string;
}

/** Runs a command of the shipped bundle to its end. */
export function mooring(...args: string[]): Promise<Ended> {
  return mooringWith({}, ...args);
}

/** The same with variables of the environment, such as a failpoint to be killed at. */
export function mooringWith(variables: Record<string, string>, ...args: string[]): Promise<Ended> {
  const options = { maxBuffer: 64 << 20, env: { ...process.env, ...variables } };
  return new Promise((resolve) => {
    execFile(process.execPath, [BUNDLE, ...args], options, (error, stdout, stderr) => {
      const signal = error?.signal;
      const code = error === null ? 0 : Number(error.code);
      resolve({ code, stdout, stderr, ...(signal ? { signal } : {}) });
    });
  });
}
