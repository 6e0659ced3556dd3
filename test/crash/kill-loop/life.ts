import { isStatus, Namespaces, type ObjectStore } from "@mooring/store";
import { eventually, type Random } from "@mooring/store/testing";
import type { Up } from "../../support/up.ts";
import type { Ledger } from "./ledger.ts";

/** Where everything is that clients make. */
export const NAMESPACE = "churn";

/** What clients do in one life of the process, and who ends it. */
export class Life {
  readonly up: Up;
  readonly store: ObjectStore;
  readonly ledger: Ledger;
  /** A folder outside of all volumes, for what writers have acknowledged. */
  readonly acks: string;
  /** A pool is full: what waits for volumes need not get anywhere, and writes may fail. */
  isFull = false;
  #left: number;
  #over = false;

  /** `operations`: the process is killed when so many of them are acknowledged. */
  constructor(world: { up: Up; store: ObjectStore; ledger: Ledger; acks: string }, operations: number) {
    this.up = world.up;
    this.store = world.store;
    this.ledger = world.ledger;
    this.acks = world.acks;
    this.#left = operations;
  }

  get isOver(): boolean {
    return this.#over || !this.up.alive;
  }

  /** One operation more is acknowledged; the last of them kills, while the other clients are in the middle of theirs. */
  async acknowledged(): Promise<void> {
    this.#left -= 1;
    if (this.#left === 0) await this.kill();
  }

  /** Nothing is killed until `work` has ended, or the process has died by itself. */
  async spared(work: () => Promise<void>): Promise<void> {
    const left = this.#left;
    this.#left = Number.POSITIVE_INFINITY;
    try {
      await work();
    } finally {
      this.#left = left;
    }
  }

  async kill(): Promise<void> {
    this.#over = true;
    await this.up.end("SIGKILL");
  }

  /** Waits for something that the process has to do; returns when it has died instead, or while it cannot be expected. */
  async until(what: string, probe: () => Promise<boolean>): Promise<void> {
    const log = () => this.up.output.slice(-4000);
    await eventually(what, async () => this.isOver || this.isFull || (await probe()), { lastSeen: log });
  }

  /** Runs something against the process; false when that has died meanwhile, whatever it had to say. */
  async lives(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
    } catch (error) {
      if (!isStatus(error, "ServiceUnavailable", "Timeout")) {
        if (this.isOver) return false;
        throw error;
      }
      // On a machine that has much else to do a request is given up sometimes while the process lives: then it ends here.
      const goesOn = async (): Promise<boolean> => this.isOver || (await this.#responds());
      await eventually("the process to be dead, or to respond again", goesOn);
      if (!this.isOver) await this.kill();
    }
    return !this.isOver;
  }

  #responds(): Promise<boolean> {
    return this.store.list(Namespaces, { limit: 1 }).then(
      () => true,
      () => false,
    );
  }
}

/** A client of the API, one operation after the other. */
export interface Client {
  /** One operation, to the end. Throws what the server said, or that it said nothing. */
  act(life: Life, random: Random): Promise<void>;
}

/** All clients at once, until the life is over. */
export async function churn(life: Life, clients: readonly Client[], random: Random): Promise<void> {
  const run = async (client: Client, own: Random): Promise<void> => {
    while (await life.lives(() => client.act(life, own))) await life.acknowledged();
  };
  const all = await Promise.allSettled(clients.map((client) => run(client, random.fork())));
  const failed = all.find((each) => each.status === "rejected");
  if (failed === undefined) return;
  await life.kill();
  throw failed.reason;
}
