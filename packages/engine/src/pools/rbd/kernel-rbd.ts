import { existsSync, readdirSync, readFileSync } from "node:fs";
import { release } from "node:os";
import { IMAGE_FEATURES } from "../../api/image-features.ts";
import type { Exec, MountEntry } from "../../host/host.ts";
import { unknownTo } from "./features.ts";

const BUS = "/sys/bus/rbd";

/** An image that this kernel has as a device. */
export interface Mapping {
  /** Of the device: the 3 of `/dev/rbd3`. */
  id: string;
  pool: string;
  /** Empty: the one without a name. */
  namespace: string;
  name: string;
  /** Bytes. */
  size: number;
}

/** Whether this kernel's own client can open an image; else why not. */
export interface KernelWay {
  usable: boolean;
  why: string;
}

/** The sum of the features that this kernel's client knows; undefined: it has none. Loads its module where there is one. */
export async function kernelFeatures(exec: Exec): Promise<number | undefined> {
  if (!existsSync(BUS)) await exec.try("modprobe", ["--quiet", "rbd"]).catch(() => {});
  return existsSync(BUS) ? Number(attribute("supported_features") ?? 0) : undefined;
}

/** `known`: see {@link kernelFeatures}. */
export function kernelWay(known: number | undefined, features: readonly string[]): KernelWay {
  if (known === undefined) return { usable: false, why: "the kernel has no rbd" };
  const unknown = unknownTo(known, features);
  if (unknown.length === 0) return { usable: true, why: "the kernel has rbd" };
  return { usable: false, why: `the kernel's rbd does not know ${unknown.join(", ")}` };
}

/** The same for an image with all features that ours may have. */
export async function kernelRbd(exec: Exec): Promise<KernelWay> {
  return kernelWay(await kernelFeatures(exec), IMAGE_FEATURES);
}

/**
 * `noshare`: each image has a client of its own, so that shutting a lost node out of one image takes no other along. `noudev`:
 * nobody waits for a program that may not be there. The second protocol is all that some monitors listen to.
 */
export function mapOptions(kernel: string = release()): string {
  const [major = 0, minor = 0] = kernel.split(".").map(Number);
  const knowsSecond = major > 5 || (major === 5 && minor >= 11);
  return ["noudev", "noshare", ...(knowsSecond ? ["ms_mode=prefer-crc"] : [])].join();
}

/** Everything that is mapped, by whomever. */
export function readMappings(): Mapping[] {
  const ids = existsSync(BUS) ? readdirSync(`${BUS}/devices`) : [];
  return ids.map(readMapping).filter((found) => found !== undefined);
}

/** Of sysfs, which waits for no cluster. */
export function readMapping(id: string): Mapping | undefined {
  const [pool, name, size] = ["pool", "name", "size"].map((file) => attribute(`devices/${id}/${file}`));
  if (pool === undefined || name === undefined) return undefined;
  return { id, pool, name, namespace: attribute(`devices/${id}/pool_ns`) ?? "", size: Number(size) };
}

/** The address of its client, as the cluster knows it; undefined where the kernel does not show it. */
export function clientOf(id: string): string | undefined {
  return attribute(`devices/${id}/client_addr`);
}

/** The device that is shown at a path: its number, and whether it is gone; undefined where it is no such device. */
export function deviceShown({ root }: MountEntry): { id: string; gone: boolean } | undefined {
  const [, id, end = ""] = /\/rbd(\d+)(\/\/deleted)?$/.exec(root) ?? [];
  return id === undefined ? undefined : { id, gone: end !== "" };
}

function attribute(file: string): string | undefined {
  try {
    return readFileSync(`${BUS}/${file}`, "utf8").trim();
  } catch {
    // It was unmapped meanwhile, or an old kernel does not show it.
    return undefined;
  }
}
