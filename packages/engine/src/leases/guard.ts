import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { EngineError } from "../errors.ts";
import type { Clock, LoopAttachment } from "../host/host.ts";
import { readLoop } from "../host/sysfs-loops.ts";
import { GUARD_PROGRAM } from "./guard-program.ts";

/** Longer than an ioctl that waits for slow I/O usually takes. */
const FENCE_MS = 10_000;
/** One device in the file of the deadlines; the last field is the image. */
const LINE = /^(loop\d+) (\S+) (\d+)(?: (\S+))?$/;

interface Guarded {
  /** `loop3` */
  name: string;
  /** Distinguishes this attachment of the device from every other. */
  sequence: string;
  /** Milliseconds since boot. */
  deadline: number;
}

/**
 * Makes sure that a device cannot be written to after its time, also when this process has died before. The
 * deadlines are in a file; the process that watches them is started with the first and outlives us.
 */
export class DeviceGuard {
  readonly #file: string;
  readonly #clock: Clock;
  readonly #devices = new Map<string, Guarded>();
  #child: ChildProcess | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** A write that has not begun: it takes along what is changed until then. */
  #next: Promise<void> | undefined;

  private constructor(file: string, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
  }

  /**
   * `file`: absolute path of the deadlines. Devices that an earlier process has left in it keep theirs: their users go
   * on, and the images may never be read again here, because their pool does not open or this process dies.
   */
  static async open(file: string, clock: Clock): Promise<DeviceGuard> {
    const guard = new DeviceGuard(file, clock);
    for (const [image, guarded] of readDeadlines(file)) {
      if (await isOpen(guarded)) guard.#devices.set(image, guarded);
    }
    if (guard.#devices.size > 0) await guard.#publish();
    return guard;
  }

  /** From now on the image's device works until the deadline only. Resolves when that is sure. */
  async protect(image: string, device: LoopAttachment, deadline: number): Promise<void> {
    const name = nameOf(device);
    const loop = await readLoop(name);
    if (loop?.sequence !== device.sequence) throw new EngineError("UNAVAILABLE", `${device.path} went away`);
    if (loop.sequence === "") {
      throw new EngineError("FAILED_PRECONDITION", "this kernel cannot fence a device of a shared pool", {
        hint: "use Linux 5.15 or newer on every node of a shared pool",
      });
    }
    // By whatever name an earlier process knew it: two deadlines of one device, and the earlier would count.
    for (const [other, guarded] of this.#devices) if (guarded.name === name) this.#devices.delete(other);
    this.#devices.set(image, { name, sequence: loop.sequence, deadline });
    await this.#publish();
  }

  /** The image's device, as it is open now, works until the deadline or longer. */
  async protects(image: string, device: LoopAttachment, deadline: number): Promise<boolean> {
    const guarded = this.#devices.get(image);
    if (guarded?.name !== nameOf(device) || guarded.sequence !== device.sequence) return false;
    return guarded.deadline >= deadline && (await isOpen(guarded));
  }

  /** A new deadline of an image whose device is protected already. */
  async extend(image: string, deadline: number): Promise<void> {
    const guarded = this.#devices.get(image);
    if (guarded === undefined) return;
    guarded.deadline = deadline;
    await this.#publish();
  }

  /** Fences the image's device now. Resolves when nothing can get through any more. */
  async fence(image: string): Promise<void> {
    const guarded = this.#devices.get(image);
    if (guarded === undefined) return;
    guarded.deadline = 0;
    await this.#publish();
    const { name } = guarded;
    const end = this.#clock.sinceBoot() + FENCE_MS;
    for (;;) {
      if (!(await isOpen(guarded))) break;
      if (this.#clock.sinceBoot() > end) throw new EngineError("INTERNAL", `/dev/${name} cannot be fenced`);
      await this.#clock.sleep(20);
    }
    // Another device of the image may be protected by now.
    if (this.#devices.get(image) === guarded) await this.forget(image);
  }

  /** The image's device is gone, or of another image. */
  async forget(image: string): Promise<void> {
    if (this.#devices.delete(image)) await this.#publish();
  }

  /** Ends the watching; only when no device needs it. */
  async close(): Promise<void> {
    await this.#writing.catch(() => {});
    for (const guarded of this.#devices.values()) if (await isOpen(guarded)) return;
    await rm(this.#file, { force: true });
  }

  /** One write after the other; the file is replaced as a whole, and lives for this boot only. */
  #publish(): Promise<void> {
    this.#next ??= this.#writing
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#write();
      });
    this.#writing = this.#next;
    return this.#next;
  }

  async #write(): Promise<void> {
    const lines = [...this.#devices].map(
      ([image, { name, sequence, deadline }]) => `${name} ${sequence} ${Math.floor(deadline)} ${image}`,
    );
    const temporary = `${this.#file}.new`;
    await writeFile(temporary, `${[bootID(), ...lines].join("\n")}\n`, { mode: 0o600 });
    await rename(temporary, this.#file);
    if (this.#devices.size > 0) await this.#watch();
  }

  async #watch(): Promise<void> {
    if (this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null) return;
    const child = spawn("perl", ["-e", GUARD_PROGRAM, this.#file], {
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
    });
    try {
      const left = once(child.stdout.resume(), "end");
      await once(child, "spawn");
      // From here on it is not ended with us.
      await left;
    } catch (cause) {
      throw new EngineError("FAILED_PRECONDITION", "cannot start the guard of shared volumes", {
        hint: "install perl",
        cause,
      });
    }
    child.unref();
    this.#child = child;
  }
}

const nameOf = ({ path }: LoopAttachment): string => path.replace("/dev/", "");

function bootID(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

/** True while a write through the device can still reach the image. */
async function isOpen({ name, sequence }: Guarded): Promise<boolean> {
  const loop = await readLoop(name);
  return loop !== undefined && loop.sequence === sequence && loop.fenced !== true;
}

/** What the file has, by image; nothing when there is none, or it is from before the machine started. */
function readDeadlines(file: string): Map<string, Guarded> {
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const [boot, ...lines] = text.split("\n");
  const found = new Map<string, Guarded>();
  if (boot !== bootID()) return found;
  for (const line of lines) {
    const [, name = "", sequence = "", deadline, image] = LINE.exec(line) ?? [];
    if (deadline === undefined) continue;
    // Earlier versions did not record whose the device is. It keeps its time, under a name that no image has.
    found.set(image ?? `/dev/${name}`, { name, sequence, deadline: Number(deadline) });
  }
  return found;
}
