import { describeBytes } from "@mooring/store";
import { EngineError } from "../../errors.ts";
import type { Exec } from "../host.ts";
import { deviceSize, type ProbeResult, probe } from "./probe.ts";
import { FILESYSTEMS, type FilesystemType } from "./types.ts";

/** What decides whether a file system is made: it is made once, and never again. */
export interface MakeFilesystem {
  device: string;
  type: FilesystemType;
  /** `Volume.status.formatted`: set means that this device had a file system once, so none is ever made again. */
  formatted: string | undefined;
  /** Two witnesses have found nothing a moment ago: one is asked again, by this. */
  askAgain?: () => Promise<ProbeResult>;
}

/**
 * Makes a file system on a device that has never had one, and resolves to its type; the caller records it before the
 * first mount. When a kill came between mkfs and the record, the finished file system is found and adopted. Refuses
 * (FAILED_PRECONDITION, DATA_LOSS) whenever the record or the probe forbids it. Never killed half-way.
 */
export async function makeFilesystem(
  exec: Exec,
  request: MakeFilesystem,
  signal?: AbortSignal,
): Promise<FilesystemType> {
  const { device, type, formatted } = request;
  const found = await (request.askAgain?.() ?? probe(exec, device, signal));
  if (found.kind === "filesystem" && found.type === type && (formatted ?? type) === type) return type;
  if (formatted !== undefined) throw lostFilesystem(device, formatted, describe(found));
  if (found.kind !== "empty") throw notEmpty(device, type, describe(found));
  await requireRoom(device, type);
  const { tool, args } = FILESYSTEMS[type].mkfs;
  await exec.run(tool, [...args, device], { uninterruptible: true });
  return type;
}

function describe(found: Awaited<ReturnType<typeof probe>>): string {
  if (found.kind === "empty") return "nothing";
  return found.kind === "filesystem" ? found.type : found.what;
}

async function requireRoom(device: string, type: FilesystemType): Promise<void> {
  const size = await deviceSize(device);
  const { minimumBytes } = FILESYSTEMS[type];
  if (size >= minimumBytes) return;
  const message = `${type} needs at least ${describeBytes(minimumBytes)}, ${device} has ${describeBytes(size)}`;
  throw new EngineError("OUT_OF_RANGE", message, { hint: "ask for a larger volume, or use ext4" });
}

function lostFilesystem(device: string, formatted: string, found: string): EngineError {
  const message = `${device} was formatted with ${formatted}, but now has ${found}; it is not formatted again`;
  return new EngineError("DATA_LOSS", message, {
    hint: "repair it by hand (fsck), or restore the volume from a snapshot",
  });
}

function notEmpty(device: string, type: string, found: string): EngineError {
  const message = `${device} is to get ${type}, but already has ${found}; it is not formatted`;
  return new EngineError("FAILED_PRECONDITION", message, {
    hint: "use the volume as a block volume to read its content, or delete it",
  });
}
