import { readFile, statfs } from "node:fs/promises";
import { arch, cpus, hostname, networkInterfaces, release, totalmem } from "node:os";
import { bootID } from "../../runtime/process-identity.ts";
import type { MachineFacts } from "./node-object.ts";

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

/** Reads this machine; `folder` is on the disk that pods write to. */
export async function machineFacts(nodeName: string, folder: string): Promise<MachineFacts> {
  const disk = await statfs(folder);
  const release_ = await readFile("/etc/os-release", "utf8").catch(() => "");
  return {
    nodeName,
    hostname: hostname(),
    address: firstAddress(),
    architecture: ARCHITECTURES[arch()] ?? arch(),
    kernelVersion: release(),
    osImage: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(release_)?.[1] ?? "Linux",
    bootID: await bootID(),
    machineID: (await readFile("/etc/machine-id", "utf8").catch(() => "")).trim(),
    cpus: cpus().length,
    memoryBytes: totalmem(),
    diskBytes: disk.blocks * disk.bsize,
  };
}

function firstAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return addresses.find(({ internal, family }) => !internal && family === "IPv4")?.address ?? "127.0.0.1";
}
