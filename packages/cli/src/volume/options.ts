import { userInfo } from "node:os";
import { EngineError, type WayOut } from "@mooring/engine";
import { Option } from "commander";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

/** Who runs the command, by default: a name, or the number where no passwd has one. */
export function currentUser(): string {
  return process.env["SUDO_USER"] || userName() || String(process.getuid?.());
}

function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

/** What an argument that names a volume may be. */
export const VOLUME_ARGUMENT = "name of the Volume, or CLAIM or NAMESPACE/CLAIM";

/** Where a claim is that is named without its namespace. */
export function namespaceOption(): Option {
  return new Option("-n, --namespace <name>", "namespace of the claim (default: the kubeconfig's)");
}

/** Who asks; no name is read unless the command runs. */
export function holderOption(description = "who asks"): Option {
  return new Option("--holder <name>", `${description} (default: who runs this)`);
}

/** Who gives a ticket back: it has to be this operator's. By force it may be any holder's, so the two exclude each other. */
export function callerOption(): Option {
  return holderOption("who you are: the ticket has to be yours").conflicts("force");
}

/** What the commands call what a wish can carry. */
const FLAGS: Readonly<Record<WayOut, string>> = { queue: "--queue", force: "--force" };

/** What the engine refuses, as the command's own failure: wrong arguments, or a no for now. */
export async function withNextStep<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const exitCode = error.code === "INVALID_ARGUMENT" ? EXIT.usage : EXIT.negative;
    const flag = error.wayOut === undefined ? "" : ` (${FLAGS[error.wayOut]})`;
    const next = error.hint === undefined ? {} : { next: `${error.hint}${flag}` };
    throw new CommandError(error.message, { exitCode, cause: error, ...next });
  }
}
