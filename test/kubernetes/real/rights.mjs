// Nothing that Mooring's accounts ask for is refused, and `mooring doctor` says the same of them. Whether a role gives what nobody asks
// for is known when all steps have run: support/used-rights.mjs.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../../scripts/lib/setup.mjs";
import { nothingRefused } from "./support/audit.mjs";

const execute = promisify(execFile);

/** `mooring doctor` asks the server for the accounts, and finds nothing missing. */
async function askDoctor(cluster) {
  const args = ["doctor", "--json", "--kubeconfig", cluster.admin];
  const { stdout } = await execute(process.execPath, [join(ROOT, "dist/mooring.mjs"), ...args]).catch(
    (failed) => failed,
  );
  const rights = JSON.parse(stdout).filter(({ check }) => check.startsWith("rights of "));
  if (rights.length !== 2 || rights.some(({ state }) => state !== "ok"))
    throw new Error(`doctor about rights: ${JSON.stringify(rights)}`);
}

export async function evaluateRights(cluster) {
  await askDoctor(cluster);
  await nothingRefused(cluster);
}
