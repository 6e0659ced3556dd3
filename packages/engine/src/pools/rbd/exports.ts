import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { orAborted, within } from "@mooring/store";
import { EngineError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { withoutKeys } from "./commands.ts";
import { EXPORT_PROGRAM, endServer, serverArguments, serversAt } from "./export-servers.ts";
import type { ImageFiles } from "./image-files.ts";
import type { RbdPlace } from "./place.ts";

const START_MS = 20_000;
const RESIZE_MS = 20_000;
/** What is under way is written in this time, or not at all: the device is gone already. */
const END_MS = 10_000;
const POLL_MS = 20;

/**
 * Images as files, each by a process of its own that outlives this one (qemu-storage-daemon, FUSE): for kernels without a
 * client of Ceph. A file of an image that is not open here is empty, and nothing is mounted on it.
 *
 * No file of an open image is read, nor its attributes, from this process: when the cluster is silent, that waits in the
 * kernel, with one of the few threads that every file of this process needs.
 */
export class ExportedFiles implements ImageFiles {
  readonly #host: Host;
  readonly #place: RbdPlace;
  readonly #conf: () => string;

  /** `conf`: the configuration file of our clients. */
  constructor(host: Host, place: RbdPlace, conf: () => string) {
    this.#host = host;
    this.#place = place;
    this.#conf = conf;
  }

  async isOpen(path: string): Promise<boolean> {
    return (await this.#host.mounts.at(path)).length > 0;
  }

  async open(name: string, path: string): Promise<void> {
    const served = (await serversAt(path)).length > 0;
    if (await this.isOpen(path)) {
      if (served) return;
      // Its process was killed: every read and write fails.
      await this.#unmount(path);
    }
    for (const pid of await serversAt(path)) endServer(pid, "SIGKILL");
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, "", { mode: 0o600 });
    await this.#start(name, path);
  }

  async #start(name: string, path: string): Promise<void> {
    const { exec } = this.#host;
    const args = [
      ...serverArguments(this.#place, { conf: this.#conf(), image: name, path }),
      // Its output must not be ours: it would keep our pipes open for as long as it lives.
      "--daemonize",
    ];
    const { exitCode, stderr } = await within(START_MS, undefined, (limit) =>
      orAborted(exec.try(EXPORT_PROGRAM, args, { signal: limit }), limit),
    ).catch((cause: unknown) => {
      if (!(cause instanceof DOMException)) throw cause;
      throw new EngineError("UNAVAILABLE", `${EXPORT_PROGRAM} did not open image ${name} in time`, { cause });
    });
    if (exitCode !== 0) {
      const why = withoutKeys(stderr.trim().split("\n").at(-1) ?? "");
      throw new EngineError("UNAVAILABLE", `${EXPORT_PROGRAM} cannot open image ${name}: ${why}`, {
        hint: /Unknown driver|Unknown protocol/.test(why)
          ? "apt-get install qemu-block-extra"
          : "mooring doctor",
      });
    }
    if (await this.isOpen(path)) return;
    throw new EngineError("UNAVAILABLE", `${EXPORT_PROGRAM} has not mounted ${path}`);
  }

  async resize(path: string, size: number): Promise<void> {
    const args = ["--no-create", "--size", String(size), path];
    await within(RESIZE_MS, undefined, (limit) =>
      orAborted(this.#host.exec.run("truncate", args, { signal: limit }), limit),
    ).catch((cause: unknown) => {
      if (!(cause instanceof DOMException)) throw cause;
      const message = `the file ${path} of an image did not grow to ${size} bytes in time`;
      throw new EngineError("UNAVAILABLE", message, { hint: "check the Ceph cluster: ceph status", cause });
    });
  }

  /** Its process does not say. */
  async client(): Promise<undefined> {
    return undefined;
  }

  async close(path: string): Promise<void> {
    const { clock } = this.#host;
    const deadline = clock.sinceBoot() + END_MS;
    for (const pid of await serversAt(path)) endServer(pid, "SIGTERM");
    while ((await serversAt(path)).length > 0) {
      if (clock.sinceBoot() > deadline + END_MS)
        throw new EngineError("UNAVAILABLE", `the process that shows ${path} does not end`);
      if (clock.sinceBoot() > deadline) for (const pid of await serversAt(path)) endServer(pid, "SIGKILL");
      await clock.sleep(POLL_MS);
    }
    await this.#unmount(path);
    await rm(path, { force: true });
  }

  async #unmount(path: string): Promise<void> {
    if (!(await this.isOpen(path))) return;
    await this.#host.exec.try("umount", ["--lazy", path]);
  }
}
