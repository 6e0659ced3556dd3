import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AccessError, type ClusterAccess } from "./access.ts";
import { bearerFromFile } from "./token-file.ts";

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** True in a container of a pod, whether or not it has a service account. */
export function isInCluster(env: NodeJS.ProcessEnv = process.env): boolean {
  return env["KUBERNETES_SERVICE_HOST"] !== undefined && env["KUBERNETES_SERVICE_PORT"] !== undefined;
}

/** Access through the pod's service account. Throws AccessError outside a pod, and in one without a service account's files. */
export async function inClusterAccess(
  env: NodeJS.ProcessEnv = process.env,
  folder: string = SERVICE_ACCOUNT,
): Promise<ClusterAccess> {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  if (host === undefined || port === undefined) {
    throw new AccessError("this process does not run in a pod: KUBERNETES_SERVICE_HOST is not set");
  }
  const [ca, namespace] = await Promise.all([
    readFile(join(folder, "ca.crt"), "utf8").catch(({ code, message }: NodeJS.ErrnoException) => {
      const hint = "does its pod set automountServiceAccountToken to false?";
      throw new AccessError(`this process has no service account: ${message}; ${hint}`, code);
    }),
    readFile(join(folder, "namespace"), "utf8").catch(() => "default"),
  ]);
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    tls: { ca },
    namespace: namespace.trim(),
    authorization: bearerFromFile(join(folder, "token")),
  };
}
