import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import { defined } from "../object/defined.ts";
import { AccessError, type ClusterAccess, type TlsAccess } from "./access.ts";
import { bearerFromFile } from "./token-file.ts";

interface Context {
  cluster?: string;
  user?: string;
  namespace?: string;
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
type Kubeconfig = Readonly<Record<string, unknown>>;

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
  const name = context ?? config["current-context"] ?? firstContext(config);
  const chosen: Context = named(config, "contexts", name, path);
  const cluster: Cluster = named(config, "clusters", chosen.cluster, path);
  const user: User = chosen.user ? named(config, "users", chosen.user, path) : {};
  const folder = dirname(resolve(path));
  const authorization = authorizationOf(user, folder, path);
  return {
    server: serverOf(cluster, `${path}: cluster "${chosen.cluster}"`),
    tls: await tlsOf(cluster, user, path),
    namespace: chosen.namespace || "default",
    source: path,
    ...defined({ authorization }),
  };
}

/** A file of one context need not say which is the current one. */
function firstContext({ contexts }: Kubeconfig): unknown {
  const [first]: unknown[] = Array.isArray(contexts) ? contexts : [];
  return isRecord(first) ? first["name"] : undefined;
}

function parseYaml(text: string, path: string): Kubeconfig {
  try {
    const config: unknown = parse(text);
    if (isRecord(config)) return config;
  } catch (error) {
    throw new AccessError(`${path} is not YAML: ${(error as Error).message}`);
  }
  throw new AccessError(`${path} is not a kubeconfig`);
}

type Section = "contexts" | "clusters" | "users";
/** What an entry of a section is called, and has its content in. */
const CONTENT: Readonly<Record<Section, string>> = {
  contexts: "context",
  clusters: "cluster",
  users: "user",
};
/** The fields that we read as text; what other programs keep beside them may be anything. */
const TEXTS = new Set([
  ...[
    "cluster",
    "user",
    "namespace",
    "server",
    "tls-server-name",
    "token",
    "tokenFile",
    "username",
    "password",
  ],
  ...["certificate-authority", "client-certificate", "client-key"].flatMap((name) => [name, `${name}-data`]),
]);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The section's entry of a name. Operators write these files: an error names the place of what does not fit. */
function named(config: Kubeconfig, section: Section, name: unknown, path: string): Record<string, unknown> {
  const what = CONTENT[section];
  const list: unknown = config[section] ?? [];
  if (!Array.isArray(list)) throw new AccessError(`${path}: ${section} is not a list`);
  for (const [index, entry] of list.entries()) {
    if (!isRecord(entry) || typeof entry["name"] !== "string")
      throw new AccessError(`${path}: ${section}[${index}] has no name`);
    if (entry["name"] === name) return texts(entry[what] ?? {}, `${path}: ${what} "${name}"`);
  }
  throw new AccessError(`${path} has no ${what} "${typeof name === "string" ? name : ""}"`);
}

/** The fields that say something. */
function texts(content: unknown, where: string): Record<string, unknown> {
  if (!isRecord(content)) throw new AccessError(`${where} is not a map of fields`);
  const given = Object.entries(content).filter(([, value]) => value !== null);
  const wrong = given.find(([field, value]) => TEXTS.has(field) && typeof value !== "string");
  if (wrong !== undefined) throw new AccessError(`${where}: ${wrong[0]} is not a text`);
  return Object.fromEntries(given);
}

function serverOf({ server }: Cluster, where: string): string {
  if (server === undefined) throw new AccessError(`${where} has no server`);
  if (!/^https?:\/\//.test(server) || !URL.canParse(server))
    throw new AccessError(`${where}: server ${server} is not an address like https://host:6443`);
  return server.replace(/\/+$/, "");
}

async function tlsOf(cluster: Cluster, user: User, path: string): Promise<TlsAccess> {
  const ca = await pem(cluster["certificate-authority-data"], cluster["certificate-authority"], path);
  const cert = await pem(user["client-certificate-data"], user["client-certificate"], path);
  const key = await pem(user["client-key-data"], user["client-key"], path);
  const servername = cluster["tls-server-name"];
  return {
    ...defined({ ca, cert, key, servername }),
    ...(cluster["insecure-skip-tls-verify"] === true ? { rejectUnauthorized: false } : {}),
  };
}

async function pem(
  data: string | undefined,
  file: string | undefined,
  path: string,
): Promise<string | undefined> {
  if (data) return Buffer.from(data, "base64").toString();
  if (!file) return undefined;
  return readFile(resolve(dirname(path), file), "utf8").catch((error: Error) => {
    throw new AccessError(`${path} names a file that cannot be read: ${error.message}`);
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
