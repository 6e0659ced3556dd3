import { createHash } from "node:crypto";
import { Events, type Event as KubeEvent } from "../kinds/kubernetes.ts";
import { defined } from "../object/defined.ts";
import type { KubeObject } from "../object/meta.ts";
import { isAlreadyExists, isNamespaceEnding, isNotFound } from "../object/status-error.ts";
import type { ObjectStore } from "../object-store.ts";
import { type Logger, silentLogger } from "../runtime/logger.ts";
import { SimilarEvents } from "./similar-events.ts";

/** Who an `EventRecorder` speaks for, and its clock. */
export interface EventRecorderOptions {
  /** Who reports: `csi.mooring.dev`. */
  component: string;
  /** Where it runs. */
  host?: string;
  logger?: Logger;
  /** Milliseconds since the epoch; default `Date.now`. */
  clock?: () => number;
}

/** What an event is about. */
export type EventSubject = Pick<KubeObject, "apiVersion" | "kind" | "metadata">;

const MAX_MESSAGE = 1024;

interface Writing {
  /** Repeats that came while the event was being written. */
  waiting: number;
  done: Promise<void>;
}

/**
 * Reports what happens to objects as core/v1 Events. The same event again raises its count; its name is made from what
 * its text, so that this is also true after a restart. Reporting never fails and never delays the caller.
 */
export class EventRecorder {
  readonly #store: ObjectStore;
  readonly #component: string;
  readonly #host: string;
  readonly #logger: Logger;
  readonly #clock: () => number;
  readonly #similar = new SimilarEvents();
  readonly #writing = new Map<string, Writing>();

  constructor(store: ObjectStore, options: EventRecorderOptions) {
    this.#store = store;
    this.#component = options.component;
    this.#host = options.host ?? "";
    this.#logger = options.logger ?? silentLogger;
    this.#clock = options.clock ?? Date.now;
  }

  /** `reason` is one word in CamelCase; `message` is truncated to 1,024 characters. */
  event(subject: EventSubject, type: "Normal" | "Warning", reason: string, message: string): void {
    const event = this.#compose(subject, type, reason, message);
    const { name } = event.metadata;
    const writing = this.#writing.get(name);
    if (writing !== undefined) {
      writing.waiting += 1;
      return;
    }
    const entry: Writing = { waiting: 0, done: Promise.resolve() };
    this.#writing.set(name, entry);
    entry.done = this.#writeAll(event, entry).finally(() => this.#writing.delete(name));
  }

  /** Resolves when everything reported so far is stored or given up. */
  async flush(): Promise<void> {
    await Promise.all([...this.#writing.values()].map(({ done }) => done));
  }

  async #writeAll(event: KubeEvent, entry: Writing): Promise<void> {
    try {
      await this.#write(event, 1);
      while (entry.waiting > 0) {
        const repeats = entry.waiting;
        entry.waiting = 0;
        await this.#write(event, repeats);
      }
    } catch (error) {
      const { reason, message } = event;
      // Whoever could read it is on the way out as well.
      if (isNamespaceEnding(error)) return this.#logger.debug({ reason, message }, "the namespace is ending");
      this.#logger.warn({ err: error, reason, message }, "cannot store an event");
    }
  }

  async #write(event: KubeEvent, repeats: number): Promise<void> {
    const now = this.#now();
    const key = { namespace: event.metadata.namespace ?? "default", name: event.metadata.name };
    try {
      const known = await this.#store.get(Events, key);
      const count = (known.count ?? 1) + repeats;
      const body = { count, lastTimestamp: now, message: event.message, type: event.type };
      await this.#store.patch(Events, key, { type: "merge", body });
      return;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    try {
      await this.#store.create(Events, { ...event, count: repeats, firstTimestamp: now, lastTimestamp: now });
    } catch (error) {
      // Another process with the same component was faster; its count is as good as ours.
      if (!isAlreadyExists(error)) throw error;
    }
  }

  #compose(subject: EventSubject, type: string, reason: string, text: string): KubeEvent {
    const { name, namespace, uid, resourceVersion } = subject.metadata;
    const message = this.#similar.message(`${uid}/${reason}`, text.slice(0, MAX_MESSAGE), this.#clock());
    const identity = [this.#component, this.#host, subject.kind, uid ?? name, type, reason, message.identity];
    const hash = createHash("sha256").update(identity.join("\n")).digest("hex").slice(0, 16);
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${name.slice(0, 236)}.${hash}`, namespace: namespace || "default" },
      involvedObject: {
        apiVersion: subject.apiVersion,
        kind: subject.kind,
        name,
        ...(namespace ? { namespace } : {}),
        ...defined({ uid, resourceVersion }),
      },
      type,
      reason,
      message: message.text,
      source:
        this.#host === "" ? { component: this.#component } : { component: this.#component, host: this.#host },
      reportingComponent: this.#component,
      reportingInstance: this.#host,
    };
  }

  #now(): string {
    return `${new Date(this.#clock()).toISOString().slice(0, 19)}Z`;
  }
}
