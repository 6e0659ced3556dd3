import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { eventually } from "@mooring/store/testing";

/** Everything that the driver of `small-driver.ts` can. */
export const ALL = ["CREATE_DELETE_VOLUME", "PUBLISH_UNPUBLISH_VOLUME", "CREATE_DELETE_SNAPSHOT"];

/** A driver of another vendor behind one socket: what is there is another process each time. */
export class DriverProcess {
  readonly socket: string;
  readonly #program: string;
  #child: ChildProcess | undefined;

  /** `program`: the bundle of `small-driver.ts`. */
  constructor(program: string, socket: string) {
    this.#program = program;
    this.socket = socket;
  }

  async start(name: string, can: readonly string[] = ALL): Promise<void> {
    const args = [this.#program, this.socket, name, can.join(",")];
    this.#child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });
    await eventually(`driver ${name}`, () => responds(this.socket));
  }

  /** Stands still, with its connections open. */
  hang(): void {
    this.#child?.kill("SIGSTOP");
  }

  goOn(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Its socket goes with it. */
  async leave(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
    await rm(this.socket, { force: true });
  }

  /** How often it was called so, in all its lives. */
  async called(method: string): Promise<number> {
    const calls = await readFile(`${this.socket}.calls`, "utf8").catch(() => "");
    return calls.split("\n").filter((line) => line.startsWith(`${method} `)).length;
  }

  /** From now on it does not detach any volume. Resolves with how to end that. */
  refuseToDetach(): Promise<() => Promise<void>> {
    return this.#refuse("detach");
  }

  /** The same of attaching. */
  refuseToAttach(): Promise<() => Promise<void>> {
    return this.#refuse("attach");
  }

  async #refuse(what: string): Promise<() => Promise<void>> {
    const file = `${this.socket}.refuses-to-${what}`;
    await writeFile(file, "");
    return () => rm(file, { force: true });
  }
}

async function responds(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
