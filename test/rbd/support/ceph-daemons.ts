import { type ChildProcess, spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type CephCluster, eventually } from "@mooring/store/testing";

/** A daemon whose death clients notice. */
export type CephDaemon = "ceph-mon" | "ceph-osd";

/** Kills it as by kill -9. Resolves when it is gone; what is returned starts it again on what it has kept. */
export async function killDaemon(ceph: CephCluster, daemon: CephDaemon): Promise<() => ChildProcess> {
  const found = await find(ceph, daemon);
  process.kill(found.pid, "SIGKILL");
  await eventually(`the end of ${daemon}`, async () => (await commandOf(found.pid)).length === 0);
  return () => spawn("setpriv", ["--pdeathsig", "KILL", ...found.command], { stdio: "ignore" });
}

async function find(ceph: CephCluster, daemon: CephDaemon): Promise<{ pid: number; command: string[] }> {
  const folder = `${dirname(ceph.conf)}/`;
  for (const entry of await readdir("/proc")) {
    const pid = Number(entry);
    const command = Number.isNaN(pid) ? [] : await commandOf(pid);
    if (command[0] === daemon && command.some((argument) => argument.startsWith(folder)))
      return { pid, command };
  }
  throw new Error(`no ${daemon} runs below ${folder}`);
}

/** Empty for one that has ended. */
async function commandOf(pid: number): Promise<string[]> {
  const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return line.split("\0").slice(0, -1);
}
