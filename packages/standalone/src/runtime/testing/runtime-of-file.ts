import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before } from "node:test";
import { silentLogger } from "@mooring/store";
import { createProcessRuntime } from "../process-runtime.ts";
import type { ContainerConfig, ContainerStatus, LogOptions, Runtime } from "../runtime.ts";

/** Ends every container of the file. Nothing of them may be mounted then. */
async function close(runtime: Runtime, stateDir: string): Promise<void> {
  for (const { id } of runtime.list()) {
    await runtime.stop(id, { graceMs: 0 });
    await runtime.remove(id);
  }
  for (const pod of await runtime.podsOnDisk()) await runtime.removePod(pod);
  await runtime.close();
  assert.doesNotMatch(await readFile("/proc/self/mountinfo", "utf8"), new RegExp(stateDir));
  await rm(stateDir, { recursive: true });
}

/** A container that runs a script of the machine's shell; the serial number makes its names. */
function configOf(serial: number, script: string, more: Partial<ContainerConfig>): ContainerConfig {
  return {
    id: `c${serial}`,
    pod: { uid: `uid-${serial}`, namespace: "default", name: `pod-${serial}` },
    name: "main",
    attempt: 0,
    argv: ["sh", "-c", script],
    env: { PATH: "/usr/bin:/bin" },
    hostname: `pod-${serial}`,
    user: { uid: 0, gid: 0, groups: [] },
    capabilities: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL"],
    mounts: [],
    devices: [],
    ...more,
  };
}

/** Resolves when the container has ended. */
export async function finished(of: Runtime, id: string): Promise<ContainerStatus> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const status = of.get(id);
    if (status?.state === "exited") return status;
    if (Date.now() > deadline) throw new Error(`container ${id} did not end: ${JSON.stringify(status)}`);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 200);
      const stop = of.onChange(() => {
        clearTimeout(timer);
        stop();
        resolve();
      });
    });
  }
}

/** What the container has written, as a string. */
export async function logOf(of: Runtime, status: ContainerStatus, options: LogOptions = {}): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of of.logs(status, options)) parts.push(part);
  return Buffer.concat(parts).toString();
}

/** The one runtime of a test file, on a state folder of its own. */
export class RuntimeOfFile {
  #stateDir = "";
  #runtime: Runtime | undefined;
  /** Of the last container that was made. */
  serial = 0;

  /** To be called at the top of the file. */
  static open(): RuntimeOfFile {
    const made = new RuntimeOfFile();
    before(async () => {
      made.#stateDir = await mkdtemp("/tmp/mooring-runtime-");
      made.#runtime = await createProcessRuntime({ stateDir: made.#stateDir, logger: silentLogger });
    });
    after(() => close(made.runtime, made.#stateDir));
    return made;
  }

  get stateDir(): string {
    return this.#stateDir;
  }

  get runtime(): Runtime {
    return this.#runtime ?? assert.fail("the runtime is not there yet");
  }

  config(script: string, more: Partial<ContainerConfig> = {}): ContainerConfig {
    this.serial += 1;
    return configOf(this.serial, script, more);
  }

  /** Starts the container, and resolves when it has ended. */
  async runToEnd(wanted: ContainerConfig): Promise<{ status: ContainerStatus; log: string }> {
    await this.runtime.start(wanted);
    const status = await finished(this.runtime, wanted.id);
    return { status, log: await logOf(this.runtime, status) };
  }

  /** Resolves when the text is in the container's log. */
  async logLine(wanted: ContainerConfig, text: string): Promise<void> {
    const options = { follow: true, signal: AbortSignal.timeout(60_000) };
    for await (const part of this.runtime.logs(wanted, options))
      if (Buffer.from(part).toString().includes(text)) return;
    assert.fail(`the log never had ${text}`);
  }

  logFile({ pod }: ContainerConfig): string {
    return join(this.#stateDir, "logs/pods", `default_${pod.name}_${pod.uid}`, "main/0.log");
  }
}
