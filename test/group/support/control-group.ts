import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createHost } from "@mooring/engine";
import { eventually } from "@mooring/store/testing";

let made = 0;

/** A version 2 control group, as a container runtime gives one to every workload. */
export class ControlGroup {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Throws when the machine has no version 2 hierarchy. */
  static async create(): Promise<ControlGroup> {
    const mounts = await createHost().mounts.list();
    const home = mounts.find(({ fsType }) => fsType === "cgroup2");
    if (home === undefined) throw new Error("this machine has no version 2 control groups: mount -t cgroup2");
    made += 1;
    const path = join(home.target, `mooring-test-${process.pid}-${made}`);
    await mkdir(path);
    return new ControlGroup(path);
  }

  add(pid: number): Promise<void> {
    return writeFile(join(this.path, "cgroup.procs"), String(pid));
  }

  /** Processes in it have to have ended; the kernel notices a little later. */
  async remove(): Promise<void> {
    await eventually(
      "the control group to be empty",
      async () => !(await readFile(join(this.path, "cgroup.events"), "utf8")).includes("populated 1"),
    );
    await rmdir(this.path);
  }
}
