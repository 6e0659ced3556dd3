import type { ObjectStore, Resource } from "@mooring/store";
import { until } from "./harness.ts";

const WRITES = new Set(["create", "update", "updateStatus", "patch", "patchStatus", "delete"]);
const READS = new Set(["get", "list"]);
/** Events and leases are not part of an operation. */
const ASIDE = new Set(["events", "leases"]);
const QUIET_MS = 500;

export interface Spent {
  writes: number;
  reads: number;
  /** By verb and kind, for people. */
  table: string;
}

/** Counts the calls of an API server that go through a store. */
export class Calls {
  readonly #counts = new Map<string, number>();
  #last = performance.now();

  /** The same store; what is called is counted. */
  counted(store: ObjectStore): ObjectStore {
    return new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]) => {
          if (WRITES.has(String(name)) || READS.has(String(name)))
            this.#note(String(name), (args[0] as Resource).plural);
          return member.apply(target, args);
        };
      },
    });
  }

  #note(verb: string, plural: string): void {
    if (ASIDE.has(plural)) return;
    const key = `${verb} ${plural}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    this.#last = performance.now();
  }

  /** Waits until nobody has called for a while. */
  async quiet(): Promise<void> {
    await until("no more calls", () => performance.now() - this.#last > QUIET_MS);
  }

  /** What was called since the last time. */
  take(): Spent {
    const all = [...this.#counts].sort();
    this.#counts.clear();
    const sum = (verbs: ReadonlySet<string>) =>
      all.reduce((total, [key, count]) => total + (verbs.has(key.split(" ")[0] ?? "") ? count : 0), 0);
    const table = all.map(([key, count]) => `${count} ${key}`).join(", ");
    return { writes: sum(WRITES), reads: sum(READS), table };
  }
}
