import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { RestStore } from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

export interface ClientOptions {
  kubeconfig?: string;
}

/** Where one is looked for when nobody names one: the standalone server's, the user's. */
const places = (): string[] => ["/var/lib/mooring/kubeconfig", join(homedir(), ".kube", "config")];

/** What opening a file meets: undefined when it can be read, else the system's code. */
async function obstacle(path: string): Promise<string | undefined> {
  return access(path, constants.R_OK).then(
    () => undefined,
    ({ code }: NodeJS.ErrnoException) => code ?? "EIO",
  );
}

const isForbidden = (code: string | undefined): boolean => code === "EACCES" || code === "EPERM";

/**
 * The first of these files that is there. They were named, so nothing else is looked at when they cannot be used: a
 * command must not reach a cluster that nobody meant. `source`: who named them.
 */
async function binding(paths: readonly string[], source: string, instead: string): Promise<string> {
  for (const path of paths) {
    const code = await obstacle(path);
    if (code === undefined) return path;
    if (isForbidden(code)) {
      throw new CommandError(`${source} names ${path}, which you may not read`, {
        next: "run it as root (sudo -E keeps $KUBECONFIG), or name a file that you may read",
      });
    }
  }
  const [first, ...more] = paths;
  throw new CommandError(
    more.length === 0
      ? `${source} names ${first}, which does not exist`
      : `${source} names ${paths.join(", ")}, of which none exists`,
    { next: `correct the path, ${instead}` },
  );
}

/** `--kubeconfig`, `$KUBECONFIG`, or, when neither is given, the first of the usual places that has one. */
async function kubeconfigPath(options: ClientOptions): Promise<string> {
  if (options.kubeconfig !== undefined)
    return binding([options.kubeconfig], "--kubeconfig", "or start the server that writes it: mooring up");
  const named = (process.env.KUBECONFIG ?? "").split(":").filter((path) => path !== "");
  if (named.length > 0)
    return binding(named, "$KUBECONFIG", "or take it away to use the usual places: unset KUBECONFIG");
  const usual = places();
  const codes = await Promise.all(usual.map(obstacle));
  const found = usual.find((_, index) => codes[index] === undefined);
  if (found !== undefined) return found;
  const closed = usual.find((_, index) => isForbidden(codes[index]));
  if (closed !== undefined)
    throw new CommandError(`no kubeconfig: you may not read ${closed}`, {
      next: "run it as root (sudo), or pass --kubeconfig FILE",
      exitCode: EXIT.unreachable,
    });
  throw new CommandError(
    "no kubeconfig: neither --kubeconfig nor $KUBECONFIG names one, and the usual places have none",
    {
      next: "start a standalone server with `mooring up`, or pass --kubeconfig FILE",
      exitCode: EXIT.unreachable,
    },
  );
}

/** The API server that the other commands talk to. */
export async function openClient(options: ClientOptions): Promise<RestStore> {
  return RestStore.fromKubeconfig(await kubeconfigPath(options));
}
