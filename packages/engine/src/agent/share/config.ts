import { open, readFile, rename } from "node:fs/promises";
import { syncFolder } from "../../pools/durable.ts";
import { absent } from "../../pools/file-images.ts";
import type { ShareLayout } from "./layout.ts";

/** Seconds in which clients of a server that has died may claim what they had open; as long as their leases. */
const GRACE_SECONDS = 20;

/**
 * What one server is told: NFS version 4 over TCP, one file system, below the name of its volume. Attributes and folders
 * are read anew each time: programs on the serving node itself write to the same file system past the server, and their
 * changes have to be seen at once. Users are told by their numbers, so that nodes need no common list of them.
 */
export function serverConfig(layout: ShareLayout, volume: string, port: number): string {
  return `NFS_CORE_PARAM {
  NFS_Protocols = 4;
  NFS_Port = ${port};
  Enable_NLM = false;
  Enable_RQUOTA = false;
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
  Access_Type = RW;
  Squash = No_Root_Squash;
  SecType = sys;
  Protocols = 4;
  Transports = TCP;
  Attr_Expiration_Time = 0;
  FSAL {
    Name = VFS;
  }
}
LOG {
  Default_Log_Level = WARN;
}
`;
}

/** The port of the server that was started last; undefined: none was. */
export async function recordedPort({ config }: ShareLayout): Promise<number | undefined> {
  const text = await readFile(config, "utf8").catch(absent);
  const port = Number(/^ {2}NFS_Port = (\d+);$/m.exec(text ?? "")?.[1]);
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
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
