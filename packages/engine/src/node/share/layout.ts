import { statSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "@mooring/store";
import { DRIVER_NAME } from "../../api/names.ts";
import { EngineError } from "../../errors.ts";

/** Where a node keeps what it needs to serve one volume. */
export interface ShareLayout {
  folder: string;
  /** The volume's file system is mounted here. */
  mount: string;
  /** What the server was started with; also the record of its port. */
  config: string;
  /** Which clients had files open: they may claim them again from the next server. */
  recovery: string;
  log: string;
  pidFile: string;
}

/** Nothing that could mean something in the server's configuration. */
const PLAIN = /^[A-Za-z0-9/._-]+$/;

/** Of any volume and state folder: every node looks whether something of a volume is here, also one that can serve none. */
export function shareLayout(stateDir: string, volume: string): ShareLayout {
  const folder = join(stateDir, "shares", volume);
  return {
    folder,
    mount: mountIn(folder, volume),
    config: join(folder, "ganesha.conf"),
    recovery: join(folder, "recovery"),
    log: join(folder, "ganesha.log"),
    pidFile: join(folder, "ganesha.pid"),
  };
}

/** Throws FAILED_PRECONDITION for a state folder whose path cannot be in the server's configuration. */
export function checkServable({ folder }: ShareLayout): void {
  if (PLAIN.test(folder)) return;
  throw new EngineError("FAILED_PRECONDITION", `the path ${folder} cannot be served over NFS`, {
    hint: "use a state folder whose path has only letters, digits, dots, dashes and underscores",
  });
}

/**
 * Pods of this node have the same file system at their staging path, and a kubelet unmounts that only when it finds no other mount of the file
 * system: none but those whose path ends as the staging path does, as it takes these for its own (`hasMountRefs` of
 * kubernetes/pkg/volume/util/operationexecutor). The staging path's name is made of the volume's handle.
 */
function mountIn(folder: string, volume: string): string {
  // What an earlier version has mounted stays where it is.
  const earlier = join(folder, "mnt");
  if (isMounted(earlier, folder)) return earlier;
  return join(folder, "plugins/kubernetes.io/csi", DRIVER_NAME, sha256(volume), "globalmount");
}

function isMounted(path: string, folder: string): boolean {
  try {
    return statSync(path).dev !== statSync(folder).dev;
  } catch (error) {
    // A file system that has failed.
    return (error as NodeJS.ErrnoException).code !== "ENOENT";
  }
}

/** Where the node that serves the volume has its file system mounted. */
export function sharePath(stateDir: string, volume: string): string {
  return shareLayout(stateDir, volume).mount;
}
