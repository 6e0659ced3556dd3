import { homedir } from "node:os";
import { join } from "node:path";
import { AccessError, isInCluster, RestStore, type RestStoreOptions } from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

/** Where a command finds its API server; without a kubeconfig, that of the state folder. */
export interface ClientOptions {
  kubeconfig?: string;
}

/** Where one is read from when the user names none: the standalone server's, the user's own. */
function places(): string[] {
  const standalone = "/var/lib/mooring/kubeconfig";
  try {
    return [standalone, join(homedir(), ".kube", "config")];
  } catch {
    // Neither $HOME nor a passwd has this user's home.
    return [standalone];
  }
}

/** The server that a file leads to, or the system's code why the file cannot be read. */
async function open(path: string, how: RestStoreOptions): Promise<RestStore | string> {
  return RestStore.fromKubeconfig(path, how).catch((error: unknown) => {
    if (error instanceof AccessError && UNREADABLE.has(error.code ?? "")) return error.code as string;
    throw error;
  });
}

const FORBIDDEN = new Set<unknown>(["EACCES", "EPERM"]);
const UNREADABLE = new Set<unknown>([...FORBIDDEN, "ENOENT", "ENOTDIR"]);

/**
 * The first of these files that is there. They were named, so nothing else is read when they cannot be used: a command must
 * not reach a cluster that the user did not mean. `source`: the option or variable that named them.
 */
async function binding(
  paths: readonly string[],
  { source, instead }: { source: string; instead: string },
  how: RestStoreOptions,
): Promise<RestStore> {
  for (const path of paths) {
    const found = await open(path, how);
    if (typeof found !== "string") return found;
    if (FORBIDDEN.has(found)) {
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

/** The first of the usual places that has one: the user has named none. */
async function usual(how: RestStoreOptions): Promise<RestStore> {
  let closed: string | undefined;
  for (const path of places()) {
    const found = await open(path, how);
    if (typeof found !== "string") return found;
    if (FORBIDDEN.has(found)) closed ??= path;
  }
  const exitCode = EXIT.unreachable;
  if (closed !== undefined)
    throw new CommandError(`no kubeconfig: you may not read ${closed}`, {
      ...{ next: "run it as root (sudo), or pass --kubeconfig FILE", exitCode },
    });
  throw new CommandError(
    "no kubeconfig: neither --kubeconfig nor $KUBECONFIG names one, and the usual places have none",
    { next: "start a standalone server with `mooring up`, or pass --kubeconfig FILE", exitCode },
  );
}

/** The API server that the other commands talk to: of `--kubeconfig`, of `$KUBECONFIG`, or of the usual places. */
export async function openClient(options: ClientOptions, how: RestStoreOptions = {}): Promise<RestStore> {
  if (options.kubeconfig !== undefined) {
    const instead = "or start the server that writes it: mooring up";
    return binding([options.kubeconfig], { source: "--kubeconfig", instead }, how);
  }
  const named = (process.env.KUBECONFIG ?? "").split(":").filter((path) => path !== "");
  const instead = "or take it away to use the usual places: unset KUBECONFIG";
  return named.length > 0 ? binding(named, { source: "$KUBECONFIG", instead }, how) : usual(how);
}

/** For what may run in a pod: there by its service account, elsewhere as all commands. */
export function openCluster(options: ClientOptions, how: RestStoreOptions = {}): Promise<RestStore> {
  const here = options.kubeconfig === undefined && process.env.KUBECONFIG === undefined && isInCluster();
  return here ? RestStore.inCluster(how) : openClient(options, how);
}

/** Those of a command that works in a namespace. */
export type NamespacedOptions = ClientOptions & { namespace?: string };

/**
 * The same as {@link openClient}, and the namespace that is meant: of `-n`, else of the kubeconfig's context, as kubectl
 * has it.
 */
export async function openNamespace(
  options: NamespacedOptions,
): Promise<{ store: RestStore; namespace: string }> {
  const store = await openClient(options);
  return { store, namespace: options.namespace ?? store.namespace };
}
