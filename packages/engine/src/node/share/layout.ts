import { join } from "node:path";
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

/** Throws FAILED_PRECONDITION for a state folder whose path cannot be in the server's configuration. */
export function shareLayout(stateDir: string, volume: string): ShareLayout {
  const folder = join(stateDir, "shares", volume);
  if (!PLAIN.test(folder)) {
    throw new EngineError("FAILED_PRECONDITION", `the path ${folder} cannot be served over NFS`, {
      hint: "use a state folder whose path has only letters, digits, dots, dashes and underscores",
    });
  }
  return {
    folder,
    mount: join(folder, "mnt"),
    config: join(folder, "ganesha.conf"),
    recovery: join(folder, "recovery"),
    log: join(folder, "ganesha.log"),
    pidFile: join(folder, "ganesha.pid"),
  };
}

/** Where the node that serves the volume has its file system mounted. */
export function sharePath(stateDir: string, volume: string): string {
  return shareLayout(stateDir, volume).mount;
}
