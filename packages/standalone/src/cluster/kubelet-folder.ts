import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { EngineError } from "@mooring/engine";
import { makeFolder } from "@mooring/store";

/** Where a kubelet and a driver meet. */
export interface KubeletFolder {
  /** The driver's own socket. */
  driverSocket: string;
  /** What the kubelet watches for. */
  registrationSocket: string;
}

/** A path of a socket has so many bytes in Linux, with the zero at its end. */
const SOCKET_PATH_BYTES = 108;

/**
 * The sockets of a driver below a kubelet's folder, which has to be there: no kubelet would watch one that this process
 * made. Throws FAILED_PRECONDITION.
 */
export async function kubeletFolder(kubeletDir: string, driver: string): Promise<KubeletFolder> {
  const root = resolve(kubeletDir);
  const there = await stat(root).catch(() => undefined);
  if (there?.isDirectory() !== true) {
    throw new EngineError("FAILED_PRECONDITION", `${root} is not the folder of a kubelet: it is not there`, {
      hint: "start the kubelet first, or say its --root-dir with --kubelet-dir",
    });
  }
  const own = join(root, "plugins", driver);
  const watched = join(root, "plugins_registry");
  const sockets = {
    driverSocket: join(own, "csi.sock"),
    registrationSocket: join(watched, `${driver}-reg.sock`),
  };
  for (const path of Object.values(sockets)) {
    if (Buffer.byteLength(path) < SOCKET_PATH_BYTES) continue;
    throw new EngineError("FAILED_PRECONDITION", `${path} is too long for a socket`, {
      hint: "use a kubelet whose --root-dir has a shorter path",
    });
  }
  await makeFolder(own, 0o750);
  await makeFolder(watched, 0o750);
  return sockets;
}
