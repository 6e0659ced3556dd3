import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import { AccessError, type ClusterAccess, type TlsAccess } from "./access.ts";
import { bearerFromFile } from "./token-file.ts";

interface Named {
  name?: string;
}
interface Cluster {
  server?: string;
  "certificate-authority"?: string;
  "certificate-authority-data"?: string;
  "insecure-skip-tls-verify"?: boolean;
  "tls-server-name"?: string;
}
interface User {
  token?: string;
  tokenFile?: string;
  username?: string;
  password?: string;
  "client-certificate"?: string;
  "client-certificate-data"?: string;
  "client-key"?: string;
  "client-key-data"?: string;
  exec?: unknown;
  "auth-provider"?: unknown;
}
interface Kubeconfig {
  "current-context"?: string;
  clusters?: (Named & { cluster?: Cluster })[];
  users?: (Named & { user?: User })[];
  contexts?: (Named & { context?: { cluster?: string; user?: string; namespace?: string } })[];
}

/** `$KUBECONFIG` (its first file), else `~/.kube/config`. */
export function defaultKubeconfigPath(env: NodeJS.ProcessEnv = process.env): string {
  const [first] = (env["KUBECONFIG"] ?? "").split(":").filter((path) => path !== "");
  return first ?? join(homedir(), ".kube", "config");
}

/** Access as one context of a kubeconfig file describes it; default: its current context. Throws AccessError. */
export async function kubeconfigAccess(
  path: string = defaultKubeconfigPath(),
  context?: string,
): Promise<ClusterAccess> {
  const text = await readFile(path, "utf8").catch(({ code, message }: NodeJS.ErrnoException) => {
    throw new AccessError(`cannot read the kubeconfig ${path}: ${message}`, code);
  });
  const config = parseYaml(text, path);
  const name = context ?? config["current-context"] ?? config.contexts?.[0]?.name;
  const chosen = named(config.contexts, name, "context", path).context ?? {};
  const cluster = named(config.clusters, chosen.cluster, "cluster", path).cluster ?? {};
  const user = chosen.user ? (named(config.users, chosen.user, "user", path).user ?? {}) : {};
  if (cluster.server === undefined)
    throw new AccessError(`${path}: cluster "${chosen.cluster}" has no server`);
  const folder = dirname(resolve(path));
  const authorization = authorizationOf(user, folder, path);
  return {
    server: cluster.server.replace(/\/+$/, ""),
    tls: await tlsOf(cluster, user, folder),
    namespace: chosen.namespace ?? "default",
    source: path,
    ...(authorization === undefined ? {} : { authorization }),
  };
}

function parseYaml(text: string, path: string): Kubeconfig {
  try {
    const config: unknown = parse(text);
    if (typeof config === "object" && config !== null) return config;
  } catch (error) {
    throw new AccessError(`${path} is not YAML: ${(error as Error).message}`);
  }
  throw new AccessError(`${path} is not a kubeconfig`);
}

function named<T extends Named>(
  list: T[] | undefined,
  name: string | undefined,
  what: string,
  path: string,
): T {
  const found = list?.find((entry) => entry.name === name);
  if (found === undefined) throw new AccessError(`${path} has no ${what} "${name ?? ""}"`);
  return found;
}

async function tlsOf(cluster: Cluster, user: User, folder: string): Promise<TlsAccess> {
  const ca = await pem(cluster["certificate-authority-data"], cluster["certificate-authority"], folder);
  const cert = await pem(user["client-certificate-data"], user["client-certificate"], folder);
  const key = await pem(user["client-key-data"], user["client-key"], folder);
  const servername = cluster["tls-server-name"];
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(servername === undefined ? {} : { servername }),
    ...(cluster["insecure-skip-tls-verify"] === true ? { rejectUnauthorized: false } : {}),
  };
}

async function pem(
  data: string | undefined,
  file: string | undefined,
  folder: string,
): Promise<string | undefined> {
  if (data) return Buffer.from(data, "base64").toString();
  if (!file) return undefined;
  return readFile(resolve(folder, file), "utf8").catch((error: Error) => {
    throw new AccessError(`the kubeconfig names a file that cannot be read: ${error.message}`);
  });
}

function authorizationOf(user: User, folder: string, path: string): ClusterAccess["authorization"] {
  if (user.tokenFile) return bearerFromFile(resolve(folder, user.tokenFile));
  if (user.token) return async () => `Bearer ${user.token}`;
  if (user.username !== undefined) {
    const pair = Buffer.from(`${user.username}:${user.password ?? ""}`).toString("base64");
    return async () => `Basic ${pair}`;
  }
  if (user.exec !== undefined || user["auth-provider"] !== undefined) {
    throw new AccessError(
      `${path} gets its credentials from a plugin, which Mooring does not run: use a token or client certificate (kubectl create token ...)`,
    );
  }
  return undefined;
}
