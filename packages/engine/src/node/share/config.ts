import { open, readFile, rename } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { syncFolder } from "@mooring/store";
import { absent } from "../../pools/file-images.ts";
import { checkServable, type ShareLayout } from "./layout.ts";

/** Where a server listens. */
export interface ServerSocket {
  /** IPv4. */
  address: string;
  port: number;
}

/** Seconds in which clients of a server that has died may claim what they had open; as long as their leases. */
const GRACE_SECONDS = 20;

/**
 * The most that the server takes. Whether a client is let in is known only once it asks for the volume: with the default of
 * 1,024, any client who reached the port kept the nodes from connecting by as many connections without a word.
 */
const MOST_CONNECTIONS = 10_000;
/** Clients say within a lease that they are there; who does not has to connect again. */
const IDLE_SECONDS = 30;

/**
 * The configuration of one server: NFS version 4 over TCP, one file system, below the name of its volume. Attributes and
 * folders are read anew each time: programs on the serving node itself write to the same file system past the server, and
 * their changes have to be seen at once. Users go by their numbers, so that nodes need no common list of them. It has no
 * passwords, so it listens on the one address that nodes are given and not on every network that the machine is in, and
 * lets in `clients` only: IPv4 addresses. Throws FAILED_PRECONDITION for a path that would mean something else in it.
 */
export function serverConfig(
  layout: ShareLayout,
  volume: string,
  { address, port }: ServerSocket,
  clients: readonly string[],
): string {
  checkServable(layout);
  return `NFS_CORE_PARAM {
  Bind_addr = ${address};
  NFS_Protocols = 4;
  NFS_Port = ${port};
  Enable_NLM = false;
  Enable_RQUOTA = false;
  RPC_Max_Connections = ${MOST_CONNECTIONS};
  RPC_Idle_Timeout_S = ${IDLE_SECONDS};
}
NFS_KRB5 {
  Active_krb5 = false;
}
NFSv4 {
  RecoveryBackend = fs;
  RecoveryRoot = "${layout.recovery}";
  Lease_Lifetime = ${GRACE_SECONDS};
  Grace_Period = ${GRACE_SECONDS};
  Delegations = false;
  Allow_Numeric_Owners = true;
  Only_Numeric_Owners = true;
}
MDCACHE {
  Dir_Chunk = 0;
}
EXPORT {
  Export_Id = 1;
  Path = "${layout.mount}";
  Pseudo = "/${volume}";
  Filesystem_Id = 1.1;
  Access_Type = None;
  Squash = No_Root_Squash;
  SecType = sys;
  Protocols = 4;
  Transports = TCP;
  Attr_Expiration_Time = 0;
  CLIENT {
    Clients = ${clients.join(", ")};
    Access_Type = RW;
    Squash = No_Root_Squash;
  }
  FSAL {
    Name = VFS;
  }
}
LOG {
  Default_Log_Level = WARN;
}
`;
}

/** What the server that was started last was configured with; undefined: none was started, or nothing of the kind. */
export async function recordedSocket(layout: ShareLayout): Promise<Partial<ServerSocket>> {
  const text = await recordedConfig(layout);
  const address = /^ {2}Bind_addr = ([0-9.]+);$/m.exec(text)?.[1];
  const port = Number(/^ {2}NFS_Port = (\d+);$/m.exec(text)?.[1]);
  return {
    ...(address !== undefined && isIPv4(address) ? { address } : {}),
    ...(Number.isInteger(port) && port > 0 && port < 65_536 ? { port } : {}),
  };
}

/** Whom the server that was started last has been made to let in: IPv4 addresses. */
export async function recordedClients(layout: ShareLayout): Promise<Set<string>> {
  const [, clients = ""] = /^ {4}Clients = ([0-9., ]*);$/m.exec(await recordedConfig(layout)) ?? [];
  return new Set(clients.split(", ").filter(isIPv4));
}

/** For {@link recordedNodes}: which node comes from which of the addresses. A comment, for the server. */
export function nodeLines(users: readonly { nodeID: string; address?: string }[]): string {
  const lines = users.map(({ nodeID, address = "" }) => `# node ${nodeID} ${address}\n`);
  return lines.filter((line) => NODE_LINE.test(line)).join("");
}

const NODE_LINE = /^# node ([a-z0-9.-]+) ([0-9.]+)\n$/;

/** The addresses of the nodes that the server has been made to let in, as they were then. */
export async function recordedNodes(layout: ShareLayout): Promise<Map<string, string>> {
  const lines = (await recordedConfig(layout)).split(/(?<=\n)/);
  return new Map(
    lines.flatMap((line) => {
      const [, nodeID, address = ""] = NODE_LINE.exec(line) ?? [];
      return nodeID !== undefined && isIPv4(address) ? [[nodeID, address] as const] : [];
    }),
  );
}

async function recordedConfig({ config }: ShareLayout): Promise<string> {
  return (await readFile(config, "utf8").catch(absent)) ?? "";
}

/** On disk when it resolves: a server is found again by this file. */
export async function writeConfig(layout: ShareLayout, text: string): Promise<void> {
  const temporary = `${layout.config}.new`;
  const handle = await open(temporary, "w", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, layout.config);
  await syncFolder(layout.folder);
}
