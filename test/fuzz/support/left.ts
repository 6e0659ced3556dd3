import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createHost } from "@mooring/engine";
import { cgroupName } from "../../../packages/standalone/src/runtime/cgroups.ts";
import { MARK } from "./hostile-pod.ts";

/** Everything of the machine that is there for pods of a state folder, but for the pod of this uid: in lines. */
export async function podsLeft(stateDir: string, except: string): Promise<string[]> {
  const kubelet = join(stateDir, "kubelet");
  const name = cgroupName(kubelet);
  const run = join("/run/mooring", name);
  const folders = [
    ...["pods", "runtime/containers", "logs/pods"].map((each) => join(kubelet, each)),
    ...["bundles", "roots", "mapped", "runc"].map((each) => join(run, each)),
  ];
  const lists = [
    ...folders.map(async (folder) =>
      (await readdir(folder).catch(() => [])).map((each) => join(folder, each)),
    ),
    mounts((target) => target.startsWith(`${kubelet}/pods/`) || target.startsWith(`${run}/`)),
    groups(name),
    processes(name),
  ];
  return (await Promise.all(lists)).flat().filter((each) => !each.includes(except));
}

async function mounts(isTheirs: (target: string) => boolean): Promise<string[]> {
  const all = await createHost().mounts.list();
  return all.map(({ target }) => target).filter(isTheirs);
}

async function groups(name: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)("find", [
    "/sys/fs/cgroup",
    "-mindepth",
    "3",
    "-type",
    "d",
    "-path",
    `*/${name}/*`,
  ]).catch((error: { stdout?: string }) => {
    // A group that goes while it is read is an error of `find`, which has the others all the same.
    if (error.stdout === undefined) throw error;
    return { stdout: error.stdout };
  });
  return stdout.split("\n").filter(Boolean);
}

async function processes(name: string): Promise<string[]> {
  const about = (pid: string, file: string) => readFile(join("/proc", pid, file), "utf8").catch(() => "");
  const pids = (await readdir("/proc")).filter((each) => /^\d+$/.test(each));
  const found = pids.map(async (pid) => {
    const group = await about(pid, "cgroup");
    const isTheirs = group.includes(`/${name}/`) || (await about(pid, "environ")).includes(`${MARK}=`);
    return isTheirs
      ? [`process ${pid} ${(await about(pid, "cmdline")).slice(0, 80)} ${group.replaceAll("\n", " ")}`]
      : [];
  });
  return (await Promise.all(found)).flat();
}
