// A program in the background, with a log of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Tries until it returns something; reports what it waited for, and why it did not happen. On a busy machine a pod alone takes minutes to
 * start: nothing fails because it is late.
 */
export async function until(what, check, seconds = 900) {
  const deadline = Date.now() + seconds * 1000;
  for (let last; ; await sleep(200)) {
    try {
      const value = await check();
      if (value) return value;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) throw new Error(`waited ${seconds} s for ${what}`, { cause: last });
  }
}

/** One that can be ended and started anew with the same arguments. */
export class Program {
  #child;
  constructor(name, argv, { log, env = {} }) {
    Object.assign(this, { name, argv, log, env });
  }

  get alive() {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get pid() {
    return this.#child?.pid;
  }

  start() {
    const out = openSync(this.log, "a");
    const [file, ...args] = this.argv;
    this.#child = spawn(file, args, { stdio: ["ignore", out, out], env: { ...process.env, ...this.env } });
    this.#child.on("error", (error) => process.stderr.write(`${this.name}: ${error.message}\n`));
    return this;
  }

  /** Its exit code, or the signal that ended it. */
  async end(signal = "SIGTERM", seconds = 60) {
    if (!this.alive) return this.#child?.exitCode ?? this.#child?.signalCode;
    const ended = once(this.#child, "exit");
    this.#child.kill(signal);
    const late = setTimeout(() => this.#child.kill("SIGKILL"), seconds * 1000);
    await ended;
    clearTimeout(late);
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  /** Until it ends by itself: its exit code, or the signal that ended it. */
  async ended() {
    if (this.alive) await once(this.#child, "exit");
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  async output() {
    return readFile(this.log, "utf8").catch(() => "");
  }
}
