import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { RestStore } from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

export interface ClientOptions {
  kubeconfig?: string;
}

/** `--kubeconfig`, `$KUBECONFIG`, the standalone server's, the user's: the first that exists. */
function kubeconfigPath(options: ClientOptions): string {
  if (options.kubeconfig !== undefined) return options.kubeconfig;
  const { KUBECONFIG } = process.env;
  const candidates = [
    ...(KUBECONFIG === undefined ? [] : KUBECONFIG.split(":")),
    "/var/lib/mooring/kubeconfig",
    join(homedir(), ".kube", "config"),
  ];
  const found = candidates.find((path) => path !== "" && existsSync(path));
  if (found !== undefined) return found;
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
  return RestStore.fromKubeconfig(kubeconfigPath(options));
}
