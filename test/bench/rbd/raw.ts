import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { CephCluster } from "@mooring/store/testing";

const command = promisify(execFile);

/** What somebody without Mooring does, in an RBD namespace of its own. */
export interface RawImages {
  rbd(...args: string[]): Promise<string>;
  /** Arguments of `rbd clone`: else the copy would be in another pool. */
  readonly destination: readonly string[];
  /** The image's loop device, as a kernel without rbd has it. */
  map(image: string): Promise<string>;
  unmap(image: string): Promise<void>;
  close(): Promise<void>;
}

/** As the same Ceph user as Mooring. */
export async function openRaw(ceph: CephCluster): Promise<RawImages> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-bench-raw-"));
  const { conf: cluster, user, keyring, pool } = ceph;
  const namespace = await ceph.namespace();
  const conf = join(folder, "ceph.conf");
  const own = `[client.${user}]\nkeyring = ${keyring}\nadmin_socket =\nrbd_default_clone_format = 2\n`;
  await writeFile(conf, `${await readFile(cluster, "utf8")}\n${own}`);
  const mapped = new Map<string, { device: string; pidfile: string }>();
  // One that has just been ended may still be mounted where it was.
  let files = 0;
  const newFile = () => join(folder, `${files++}.img`);
  const rbd = async (...args: string[]): Promise<string> => {
    const where = ["--conf", conf, "--id", user, "--pool", pool, "--namespace", namespace];
    return (await command("rbd", [...where, ...args])).stdout;
  };
  const unmap = async (image: string): Promise<void> => {
    const { device, pidfile } = mapped.get(image) ?? { device: "", pidfile: "" };
    await command("losetup", ["--detach", device]);
    process.kill(Number(await readFile(pidfile, "utf8")), "SIGTERM");
    mapped.delete(image);
  };
  return {
    rbd,
    destination: ["--dest-pool", pool, "--dest-namespace", namespace],
    map: async (image) => {
      const [file, pidfile] = [newFile(), join(folder, `${image}.pid`)];
      await writeFile(file, "");
      const blockdev = { driver: "rbd", "node-name": "image", pool, namespace, image, conf, user };
      const options = { ...blockdev, cache: { direct: true }, discard: "unmap" };
      const exported = { type: "fuse", id: "file", "node-name": "image", mountpoint: file, writable: true };
      await command("qemu-storage-daemon", [
        ...["--blockdev", JSON.stringify(options), "--export", JSON.stringify(exported)],
        ...["--daemonize", "--pidfile", pidfile],
      ]);
      const losetup = ["--find", "--show", "--direct-io=on", "--sector-size", "4096", file];
      const device = (await command("losetup", losetup)).stdout.trim();
      mapped.set(image, { device, pidfile });
      return device;
    },
    unmap,
    close: async () => {
      for (const image of mapped.keys()) await unmap(image);
      // The process that has the file mounted may still be about to end.
      await command("sh", [
        "-c",
        `for f in "$1"/*.img; do umount -l "$f" 2> /dev/null; done; true`,
        "sh",
        folder,
      ]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
