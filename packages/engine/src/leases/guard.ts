import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { EngineError } from "../errors.ts";
import type { Clock, LoopAttachment, LoopDevice } from "../host/host.ts";
import { readLoop } from "../host/sysfs-loops.ts";
import { GUARD_PROGRAM } from "./guard-program.ts";

/** Longer than an ioctl that waits for slow I/O usually takes. */
const FENCE_MS = 10_000;
/** One device in the file of the deadlines; the last field is the image. */
const LINE = /^(loop\d+) (\S+) (\d+)(?: (\S+))?$/;
/** One that is fenced: the watching passes it over. */
const LEFT = /^left (loop\d+) (\S+) (\S+)$/;

interface Attached {
  image: string;
  /** `loop3` */
  name: string;
  /** Distinguishes this attachment of the device from every other. */
  sequence: string;
}

interface Guarded extends Attached {
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
  /** Fenced while no agent was here. Their paths need not say whose they are: the file does. */
  readonly #left: Attached[] = [];
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
    const { deadlines, left } = readDeadlines(file);
    for (const guarded of deadlines) if (await isOpen(guarded)) guard.#devices.set(guarded.image, guarded);
    for (const each of [...left, ...deadlines]) if (await isFenced(each)) guard.#left.push(each);
    if (guard.#devices.size + guard.#left.length > 0) await guard.#publish();
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
    this.#devices.set(image, { image, name, sequence: loop.sequence, deadline });
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

  /** Images of which an earlier process has left a device that is fenced. */
  leftImages(): string[] {
    return [...new Set(this.#left.map(({ image }) => image))];
  }

  /** The devices of this image that it has left, as long as they are attached and fenced. */
  async left(image: string): Promise<LoopDevice[]> {
    const loops = await Promise.all(this.#left.filter((each) => each.image === image).map(loopOf));
    return loops.filter((loop) => loop?.fenced === true) as LoopDevice[];
  }

  /** The image's device is gone, or of another image. */
  async forget(image: string): Promise<void> {
    if (this.#devices.delete(image)) await this.#publish();
  }

  /** Ends the watching; only when no device needs it. */
  async close(): Promise<void> {
    await this.#writing.catch(() => {});
    for (const guarded of this.#devices.values()) if (await isOpen(guarded)) return;
    for (const each of this.#left) if (await isFenced(each)) return;
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
    const left = this.#left.map(({ image, name, sequence }) => `left ${name} ${sequence} ${image}`);
    const temporary = `${this.#file}.new`;
    await writeFile(temporary, `${[bootID(), ...lines, ...left].join("\n")}\n`, { mode: 0o600 });
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

/** This attachment of the device; undefined when it has another file by now, or none. */
async function loopOf({ name, sequence }: Attached): Promise<LoopDevice | undefined> {
  const loop = await readLoop(name);
  return loop?.sequence === sequence ? loop : undefined;
}

/** True while a write through the device can still reach the image. */
async function isOpen(guarded: Guarded): Promise<boolean> {
  const loop = await loopOf(guarded);
  return loop !== undefined && loop.fenced !== true;
}

const isFenced = async (each: Attached): Promise<boolean> => (await loopOf(each))?.fenced === true;

/** What the file has; nothing when there is none, or it is from before the machine started. */
function readDeadlines(file: string): { deadlines: Guarded[]; left: Attached[] } {
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const [boot, ...lines] = text.split("\n");
  const deadlines: Guarded[] = [];
  const left: Attached[] = [];
  if (boot !== bootID()) return { deadlines, left };
  for (const line of lines) {
    const [, leftName, leftSequence, leftImage] = LEFT.exec(line) ?? [];
    if (leftName !== undefined && leftSequence !== undefined && leftImage !== undefined)
      left.push({ image: leftImage, name: leftName, sequence: leftSequence });
    const [, name = "", sequence = "", deadline, image] = LINE.exec(line) ?? [];
    if (deadline === undefined) continue;
    // Earlier versions did not record whose the device is. It keeps its time, under a name that no image has.
    deadlines.push({ image: image ?? `/dev/${name}`, name, sequence, deadline: Number(deadline) });
  }
  return { deadlines, left };
}
