import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

const BUNDLE = fileURLToPath(new URL("../../dist/mooring.mjs", import.meta.url));

/** Runs a command of the shipped bundle to its end. */
export function mooring(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [BUNDLE, ...args], { maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}
