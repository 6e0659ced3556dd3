/**
 * Everything the engine needs of the machine, passed in so that decisions stay free of I/O and so that tests can
 * make the failures that a healthy machine does not have. `createHost()` is the real one.
 */
export interface Host {
  readonly exec: Exec;
  readonly mounts: Mounts;
  readonly loops: LoopDevices;
  readonly clock: Clock;
  /**
   * Mount and loop commands started from now on keep this file open, until the returned function is called. A lock on
   * it then outlives this process until the last of them has ended. Close the file after the function has resolved.
   */
  inherit?(fd: number): () => Promise<void>;
}

/** How a program is run. */
export interface ExecOptions {
  signal?: AbortSignal;
  input?: string | Uint8Array;
  env?: Record<string, string>;
  cwd?: string;
  /** Files that the child keeps open, from descriptor 3 on. */
  inherit?: readonly number[];
  /** Never killed before it ends, whatever the signal does: mkfs, fsck, resize. */
  uninterruptible?: boolean;
  /** Killed when this process ends, in whatever way: it runs for long, and what it makes is of no use to another life. */
  endsWithUs?: boolean;
}

/** How a program ended, and the end of what it wrote. */
export interface ExecResult {
  stdout: string;
  stderr: string;
  /** Null when a signal ended it. */
  exitCode: number | null;
  signal: string | null;
}

/** Runs a program by argv, never through a shell. `run` throws an EngineError unless the exit code is 0. */
export interface Exec {
  run(file: string, args: readonly string[], options?: ExecOptions): Promise<ExecResult>;
  /** Like run, but hands back any exit code. Throws only when the program cannot be started. */
  try(file: string, args: readonly string[], options?: ExecOptions): Promise<ExecResult>;
}

/** One line of /proc/self/mountinfo. */
export interface MountEntry {
  id: number;
  parentId: number;
  /** `7:3` */
  device: string;
  root: string;
  target: string;
  options: string[];
  fsType: string;
  source: string;
  superOptions: string[];
}

/** Arguments of `mount`. */
export interface MountRequest {
  source: string;
  target: string;
  fsType?: string;
  /** `ro`, `nouuid`, `bind`, ... */
  options?: readonly string[];
}

/** A bind mount has the flags of a mount, not those of its file system. */
export interface BindOptions {
  readOnly: boolean;
  /** `noexec`, `nosuid`, `nodev`, `noatime`, `nodiratime`: as mountinfo shows them. */
  flags?: readonly string[];
}

/** Mount truth is mountinfo, never an exit code. */
export interface Mounts {
  list(): Promise<MountEntry[]>;
  /** All mounts stacked on exactly this path, lowest first. */
  at(target: string): Promise<MountEntry[]>;
  mount(request: MountRequest, signal?: AbortSignal): Promise<void>;
  bind(source: string, target: string, options: BindOptions, signal?: AbortSignal): Promise<void>;
  /** Unmounts every layer on the path; resolves when mountinfo shows none. A path that is no mount is fine. */
  unmount(target: string, signal?: AbortSignal): Promise<void>;
}

/** A loop device that is bound to a file. */
export interface LoopDevice {
  /** `/dev/loop3` */
  path: string;
  backingFile: string;
  directIO: boolean;
  readOnly: boolean;
  sizeBytes: number;
  /** Distinguishes this attachment from every other of the same device; empty on kernels before 5.15. */
  sequence: string;
  /** Fenced off from its file for good: every read and write fails. */
  fenced?: boolean;
  /** It goes away with its last user. */
  autoclear?: boolean;
  /** Its file was unlinked, or replaced. */
  deleted?: boolean;
}

/**
 * One attachment of a file to a device. The number alone names none: once the device is free, the kernel gives it to the next
 * who asks, which may be another volume, or another program.
 */
export type LoopAttachment = Pick<LoopDevice, "path" | "backingFile" | "sequence">;

/** How a file becomes a device. */
export interface AttachOptions {
  readOnly?: boolean;
  /** Default true. */
  discard?: boolean;
  /** Bytes; default 4096. Smaller ones keep direct I/O only where the file takes it in such pieces. */
  sectorSize?: SectorSize;
}

/** Bytes in a sector of a device. */
export type SectorSize = 512 | 4096;

/** The loop devices of the machine, as the kernel has them (sysfs). */
export interface LoopDevices {
  /** All that have a file; with `below` those of this file, or of files below it. */
  list(below?: string): Promise<LoopDevice[]>;
  /** What the device (`/dev/loop3`) is bound to; undefined when to nothing. */
  at(device: string): Promise<LoopDevice | undefined>;
  /** The device of this file, if it has one. `recent`: a "no" may be a quarter of a second old, which is cheaper. */
  find(backingFile: string, options?: { recent?: boolean }): Promise<LoopDevice | undefined>;
  /**
   * Attaches with direct I/O; returns the present device when there is one already, which has to have such sectors. `discard: false`:
   * what is discarded on the device, or zeroed, keeps its blocks in the file.
   */
  attach(backingFile: string, options?: AttachOptions): Promise<LoopDevice>;
  /**
   * Attaches fenced from the first moment: everything fails until `restore`. The same file may have a device of another
   * node beside it. Returns the present device as it is when there is one.
   */
  attachWithheld(backingFile: string): Promise<LoopDevice>;
  /** Fences the device: waits for what is under way, then every read and write fails. One that is gone is fenced. */
  fence(device: LoopAttachment): Promise<void>;
  /** Undoes it, for those who have it open as well; the device then has the size of its file. */
  restore(device: LoopAttachment): Promise<void>;
  /**
   * Resolves when the attachment is gone from sysfs; whoever has got the device since keeps it. Refuses while it is mounted, in
   * whichever mount namespace. `lastUser`: lets it go with its last user instead, and resolves at once.
   */
  detach(device: LoopAttachment, options?: { lastUser?: boolean }): Promise<void>;
  /** Who keeps the device busy, as texts for messages: mount points, or a user elsewhere. Empty: none. */
  users(device: string): Promise<string[]>;
  /** Takes up a new size of the backing file. */
  refresh(device: string): Promise<void>;
}

/** Time, as far as decisions depend on it. */
export interface Clock {
  now(): Date;
  /** Milliseconds since this machine has started, time asleep included; never set back. */
  sinceBoot(): number;
  /** Rejects with the signal's reason when it fires first. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}
