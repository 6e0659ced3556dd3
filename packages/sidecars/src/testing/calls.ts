import type { ObjectStore, Resource } from "@mooring/store";
import { until } from "./harness.ts";

const WRITES = new Set(["create", "update", "updateStatus", "patch", "patchStatus", "delete"]);
const READS = new Set(["get", "list"]);
/** Events, leases and what a start asks about its rights are not part of an operation. */
const ASIDE = new Set(["events", "leases", "selfsubjectaccessreviews"]);
/** Half a second of checks, so that time in which this process did not run does not count. */
const QUIET_CHECKS = 100;

export interface Spent {
  writes: number;
  reads: number;
  /** By verb and kind, for readers. */
  table: string;
  /** The writes of one kind, by verb. */
  writesOf(plural: string): Record<string, number>;
}

/** Counts the calls of an API server that go through a store. */
export class Calls {
  readonly #counts = new Map<string, number>();
  #inFlight = 0;
  #quietChecks = 0;

  /** The same store; what is called is counted. */
  counted(store: ObjectStore): ObjectStore {
    return new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]) => {
          const called: unknown = member.apply(target, args);
          if (WRITES.has(String(name)) || READS.has(String(name)))
            this.#note(String(name), (args[0] as Resource).plural, called);
          return called;
        };
      },
    });
  }

  #note(verb: string, plural: string, called: unknown): void {
    if (ASIDE.has(plural)) return;
    const key = `${verb} ${plural}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    this.#inFlight += 1;
    const settled = () => {
      this.#inFlight -= 1;
      this.#quietChecks = 0;
    };
    Promise.resolve(called).then(settled, settled);
  }

  /** Waits until every call is settled, and no call has come for a while since. */
  async quiet(): Promise<void> {
    this.#quietChecks = 0;
    await until("no more calls", () => this.#inFlight === 0 && ++this.#quietChecks > QUIET_CHECKS);
  }

  /** What was called since the last time. */
  take(): Spent {
    const all = [...this.#counts].sort();
    this.#counts.clear();
    const sum = (verbs: ReadonlySet<string>) =>
      all.reduce((total, [key, count]) => total + (verbs.has(key.split(" ")[0] ?? "") ? count : 0), 0);
    const table = all.map(([key, count]) => `${count} ${key}`).join(", ");
    const writesOf = (plural: string) =>
      Object.fromEntries(
        all.flatMap(([key, count]) => {
          const [verb = "", kind] = key.split(" ");
          return kind === plural && WRITES.has(verb) ? [[verb, count]] : [];
        }),
      );
    return { writes: sum(WRITES), reads: sum(READS), table, writesOf };
  }
}
