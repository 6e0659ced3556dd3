import { readdir, stat } from "node:fs/promises";
import type { OciMount } from "./oci/mounts.ts";

/** Folders of the machine that no container may see: keys, and what others keep there for root alone. */
const FOLDERS: readonly string[] = [
  "/etc/ssl/private",
  "/etc/pki/tls/private",
  "/etc/kubernetes",
  "/etc/rancher",
  "/etc/letsencrypt",
  "/etc/wireguard",
  "/etc/sudoers.d",
  "/etc/NetworkManager/system-connections",
  "/var/lib/mooring",
  "/var/lib/kubelet",
  "/var/lib/rancher",
  "/var/lib/etcd",
  "/var/spool/cron",
  // shadow.bak and the like.
  "/var/backups",
];
const FILES: readonly string[] = [
  "/etc/shadow",
  "/etc/shadow-",
  "/etc/gshadow",
  "/etc/gshadow-",
  "/etc/sudoers",
  "/etc/krb5.keytab",
  "/etc/security/opasswd",
];
/** Below each home folder. */
const OF_USERS: readonly string[] = [
  ...[".ssh", ".gnupg", ".kube", ".aws", ".azure", ".docker", ".config", ".password-store", ".mozilla"],
  ...[
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".bash_history",
  ],
];
const KEY = /^ssh_host_.*_key$/;

/**
 * Mounts that take the machine's secrets out of a container's view, as far as they are there; `more`: further folders.
 * Root's home is an empty folder of the container's own.
 */
export async function hidingMounts(more: readonly string[]): Promise<OciMount[]> {
  const homes = (await names("/home")).flatMap((home) => OF_USERS.map((name) => `/home/${home}/${name}`));
  const keys = (await names("/etc/ssh")).filter((name) => KEY.test(name)).map((name) => `/etc/ssh/${name}`);
  const folders = await present(new Set([...FOLDERS, ...homes, ...more]), "isDirectory");
  const files = await present(new Set([...FILES, ...keys, ...homes]), "isFile");
  return [
    emptyFolder("/root", ["mode=700", "size=16m"]),
    ...folders.map((folder) => emptyFolder(folder, ["ro", "mode=0", "size=4k"])),
    ...files.map((file) => ({
      destination: file,
      type: "bind",
      source: "/dev/null",
      options: ["bind", "rprivate", "ro"],
    })),
  ];
}

function emptyFolder(destination: string, options: readonly string[]): OciMount {
  return { destination, type: "tmpfs", source: "tmpfs", options: ["nosuid", "nodev", ...options] };
}

async function present(paths: Iterable<string>, kind: "isDirectory" | "isFile"): Promise<string[]> {
  const found = await Promise.all(
    [...paths].map(async (path) => ((await stat(path).catch(() => undefined))?.[kind]() ? [path] : [])),
  );
  return found.flat().sort();
}

async function names(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
