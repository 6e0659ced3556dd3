import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type CsiClient, connect } from "@mooring/csi";

const DEADLINE_MS = 120_000;
/** What a caller of CSI repeats. */
const REPEATED = new Set(["UNAVAILABLE", "ABORTED", "CANCELLED", "DEADLINE_EXCEEDED"]);

/** Keeps a driver process alive, as a service manager does: one that was killed at its failpoint is started again. */
export class Supervisor {
  readonly folder: string;
  readonly #program: string;
  #child: ChildProcess | undefined;
  #client: CsiClient | undefined;
  #stopping = false;
  #output = "";
  /** Lives that ended by the failpoint. */
  kills = 0;
  #failure: Error | undefined;

  private constructor(program: string, folder: string) {
    this.#program = program;
    this.folder = folder;
  }

  static async start(program: string, failpoint?: string): Promise<Supervisor> {
    const supervisor = new Supervisor(program, await mkdtemp(join(tmpdir(), "mooring-crash-")));
    await supervisor.#live(failpoint);
    return supervisor;
  }

  /** Makes a call as often as it takes. The response is that of the first call that was not interrupted. */
  async call<A>(make: (client: CsiClient) => Promise<A>): Promise<A> {
    const deadline = Date.now() + DEADLINE_MS;
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      this.#client ??= await connect(`unix://${this.folder}/csi.sock`, { timeoutMs: 30_000 });
      try {
        return await make(this.#client);
      } catch (error) {
        const { codeName = "" } = error as { codeName?: string };
        if (!REPEATED.has(codeName) || Date.now() > deadline) {
          throw new Error(`${String(error)}\n${this.#output}`, { cause: error });
        }
        // A new connection: the old one is still waiting for the socket of a process that is gone.
        this.#client.close();
        this.#client = undefined;
        await sleep(50);
      }
    }
  }

  /** Makes a call once. False: it was interrupted, and the next life has begun. */
  async once(make: (client: CsiClient) => Promise<unknown>): Promise<boolean> {
    const before = this.kills;
    const client = await connect(`unix://${this.folder}/csi.sock`, { timeoutMs: DEADLINE_MS });
    try {
      await make(client);
      return true;
    } catch (error) {
      if ((error as { codeName?: string }).codeName !== "UNAVAILABLE") throw error;
      while (this.kills === before) await sleep(10);
      return false;
    } finally {
      client.close();
    }
  }

  /** Ends the driver by SIGTERM; resolves with its exit code. */
  async stop(): Promise<number | null> {
    this.#stopping = true;
    this.#client?.close();
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return null;
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), DEADLINE_MS);
    const [code] = (await once(child, "exit")) as [number | null];
    clearTimeout(timer);
    return code;
  }

  /** The failpoints that the last life has passed, once it has been stopped. */
  async passed(): Promise<string[]> {
    return JSON.parse(await readFile(join(this.folder, "passed.json"), "utf8")) as string[];
  }

  async #live(failpoint?: string): Promise<void> {
    const { MOORING_FAILPOINT: _none, ...env } = process.env;
    const child = spawn(process.execPath, [this.#program, this.folder], {
      env: failpoint === undefined ? env : { ...env, MOORING_FAILPOINT: failpoint },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    child.stderr.on("data", (data: Buffer) => {
      this.#output = (this.#output + data.toString()).slice(-4000);
    });
    child.once("exit", (code, signal) => {
      if (this.#stopping) return;
      if (signal === "SIGKILL" && failpoint !== undefined) {
        this.kills += 1;
        this.#live().catch((error: Error) => {
          this.#failure = error;
        });
      } else this.#failure = new Error(`the driver ended with ${code ?? signal}: ${this.#output}`);
    });
    // A failpoint may lie before the socket accepts calls: then the next life reports it.
    await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  }
}
