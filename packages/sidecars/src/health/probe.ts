import { lstat } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { Code, socketPath } from "@mooring/csi";
import { CSIDrivers, getIfAny } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { callFailure } from "../csi/codes.ts";
import { describeDriver } from "../csi/driver.ts";
import { describeChange } from "./change.ts";

type News = [type: "Normal" | "Warning", reason: string, message: string];

/** Whether a driver serves, and whether it is still the one that was asked what it can do. */
export class DriverProbe {
  readonly #context: SidecarContext;
  readonly #signal: AbortSignal;
  /** The socket of the driver that was asked; undefined: it has to be asked, as a process that waits for the lease asks nobody. */
  #asked: string | undefined;

  constructor(context: SidecarContext, signal: AbortSignal) {
    this.#context = context;
    this.#signal = signal;
  }

  /** Asks once. */
  async probe(): Promise<void> {
    const { driver, health, now, timeoutMs } = this.#context;
    const signal = this.#signal;
    // Read before: one that starts anew during the probe is asked with the next.
    const socket = await identityOf(driver.client.endpoint);
    const response = await driver.client.identity
      .probe({}, { signal, timeoutMs: Math.min(timeoutMs, 3_000) })
      .then(({ ready }) => ({ ready: ready ?? true, message: "" }))
      .catch((error: unknown) => this.#notReady(error));
    if (signal.aborted) return;
    const isNews = response.ready !== health.ready;
    if (isNews) Object.assign(health, response, { since: now() });
    if (!response.ready) this.#asked = undefined;
    if (isNews) await this.#reportReady(response);
    // It may have started anew between two probes, and never have been missed.
    if (response.ready && socket !== this.#asked && (await this.#welcome())) this.#asked = socket;
  }

  #notReady(error: unknown): { ready: boolean; message: string } {
    const { driver } = this.#context;
    const { code, message } = callFailure(error);
    // Every version of CSI has it. Controllers that begin again find out which one.
    if (code === Code.UNIMPLEMENTED)
      throw new Error(
        `the driver at ${driver.client.endpoint} has come back with another version of CSI: ${message}`,
      );
    return { ready: false, message };
  }

  async #reportReady({ ready, message }: { ready: boolean; message: string }): Promise<void> {
    const { driver, logger } = this.#context;
    if (ready) {
      logger.info({}, "the driver is ready again");
      return this.#emit(["Normal", "CSIDriverReady", "The driver serves again"]);
    }
    logger.warn({ error: message }, "the driver is not ready");
    const why = message || "it responds that it is not ready";
    const next = "What waits for it goes on when it does: see whether its process runs, and what it logs";
    await this.#emit([
      "Warning",
      "CSIDriverNotReady",
      `The driver at ${driver.client.endpoint} does not serve: ${why}. ${next}`,
    ]);
  }

  /** A driver that comes back may be a newer one: we ask again what it can do. Whether it has said so. */
  async #welcome(): Promise<boolean> {
    const { driver, here, logger, onDriverChanged, timeoutMs } = this.#context;
    try {
      const asked = { signal: this.#signal, timeoutMs, ofNode: here !== undefined };
      const info = await describeDriver(driver.client, asked);
      if (isDeepStrictEqual(info, driver.info)) return true;
      const { type, message } = describeChange(driver.info, info, driver.client.endpoint);
      logger.warn({ change: message }, "the driver has changed; starting over with it");
      await this.#emit([type, "CSIDriverChanged", message]);
      onDriverChanged(info);
      return true;
    } catch (error) {
      if (!this.#signal.aborted)
        logger.warn({ error: callFailure(error).message }, "cannot ask the driver what it can do");
      return false;
    }
  }

  /** By an event of the driver's CSIDriver object, where it has one; the log has it anyway. */
  async #emit(news: News): Promise<void> {
    const { driver, events, store } = this.#context;
    const named = { name: driver.info.name };
    const object = await getIfAny(store, CSIDrivers, named, this.#signal).catch(() => undefined);
    if (object !== undefined) events.event(object, ...news);
  }
}

/** What differs between a socket and one that was there before: inodes are used again, the time of a bind is not. */
async function identityOf(endpoint: string): Promise<string> {
  const info = await lstat(socketPath(endpoint), { bigint: true }).catch(() => undefined);
  return info === undefined ? "none" : `${info.ino}:${info.mtimeNs}`;
}
