import { spawn } from "node:child_process";

/**
 * Runs a program by argv and resolves with its exit code (128 + n when a signal ended it).
 * `quiet` keeps its output back and prints it only when it fails.
 */
export function run(file, args, { quiet = false, env = process.env, cwd } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: quiet ? ["ignore", "pipe", "pipe"] : "inherit", env, cwd });
    const kept = [];
    child.stdout?.on("data", (chunk) => kept.push(chunk));
    child.stderr?.on("data", (chunk) => kept.push(chunk));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      const exit = signal === null ? (code ?? 1) : 128;
      if (quiet && exit !== 0) process.stderr.write(Buffer.concat(kept));
      resolve(exit);
    });
  });
}
