#!/usr/bin/env node
// Runs unmodified client-go (informers, leader election, event recorders, apply, ...) against the API server of
// standalone mode. Needs Go; the module is built once into .cache. Users of Mooring do not need any of this.
import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../../scripts/lib/run.mjs";
import { stop } from "../../scripts/lib/say.mjs";
import { ROOT } from "../../scripts/lib/setup.mjs";

const MODULE = fileURLToPath(new URL("client-go", import.meta.url));
const PROGRAM = join(ROOT, ".cache/client-go/check");

await mkdir(join(ROOT, ".cache/client-go"), { recursive: true });
const built = await run("go", ["build", "-o", PROGRAM, "."], { cwd: MODULE }).catch(() => 127);
if (built !== 0)
  stop(
    "client-go could not be built.",
    "install Go 1.24 or newer and allow its module proxy, then run this again",
  );

const server = spawn(
  process.execPath,
  ["--conditions=mooring-source", "--import", "tsx", join(ROOT, "test/conformance/serve-api.ts")],
  { cwd: ROOT, stdio: ["pipe", "pipe", "inherit"] },
);
const kubeconfig = await new Promise((resolve, reject) => {
  server.stdout.once("data", (line) => resolve(String(line).trim()));
  server.once("exit", () => reject(new Error("the API server did not start")));
});
const exit = await run(PROGRAM, [], { env: { ...process.env, KUBECONFIG: kubeconfig } });
server.removeAllListeners("exit");
const gone = new Promise((resolve) => server.once("exit", resolve));
server.stdin.end();
await gone;
process.exit(exit);
