import { createHash } from "node:crypto";
import pLimit from "p-limit";
import { Events, type Event as KubeEvent } from "../kinds/kubernetes.ts";
import { defined } from "../object/defined.ts";
import type { KubeObject } from "../object/meta.ts";
import { isAlreadyExists, isNamespaceEnding, isNamespaceGone, isNotFound } from "../object/status-error.ts";
import type { ObjectStore } from "../object-store.ts";
import { type Logger, silentLogger } from "../runtime/logger.ts";
import { EventBudget } from "./event-budget.ts";
import { RecentMap } from "./recent-map.ts";
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
/** Events whose count is remembered; the count of others is read when they are repeated. */
const MAX_KNOWN = 4096;

/** Events that are being written at the same time: the objects that they are about come first, and hundreds change at once. */
const AT_ONCE = 2;

/** Else a controller that is about to write what the event reports would wait for the event first. */
const PATIENT = { patient: true };

/** An event that is stored. */
interface Known {
  /** Repetitions, with those that were not written. */
  count: number;
}

interface Writing {
  /** Repeats that came while the event was being written. */
  waiting: number;
  done: Promise<void>;
}

/**
 * Reports what happens to objects as core/v1 Events. The same event again raises its count; its name is made from
 * its text, so that this is also true after a restart. A repetition for which its object has no {@link EventBudget} left
 * is counted, and written with the next one. Reporting never fails and never delays the caller.
 */
export class EventRecorder {
  readonly #store: ObjectStore;
  readonly #component: string;
  readonly #host: string;
  readonly #logger: Logger;
  readonly #clock: () => number;
  readonly #similar = new SimilarEvents();
  readonly #known = new RecentMap<string, Known>(MAX_KNOWN);
  readonly #budget = new EventBudget();
  readonly #writing = new Map<string, Writing>();
  readonly #turns = pLimit(AT_ONCE);

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
    entry.done = this.#turns(() => this.#writeAll(event, entry)).finally(() => this.#writing.delete(name));
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
      // The objects that it is about are being deleted as well.
      if (isNamespaceEnding(error) || isNamespaceGone(error))
        return this.#logger.debug({ reason, message }, "the namespace is ending");
      this.#logger.warn({ err: error, reason, message }, "cannot store an event");
    }
  }

  async #write(event: KubeEvent, repeats: number): Promise<void> {
    const { name } = event.metadata;
    const known = this.#known.get(name);
    const granted = this.#budget.take(aboutOf(event), this.#clock());
    if (known === undefined) return this.#create(event, repeats);
    known.count += repeats;
    // How many different events an object has is bounded already, and none of them is left out.
    if (!granted) return;
    try {
      await this.#raise(event, known.count);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#known.delete(name);
      await this.#create(event, known.count);
    }
  }

  async #create(event: KubeEvent, count: number): Promise<void> {
    const now = this.#now();
    const { name, namespace = "default" } = event.metadata;
    try {
      const stamped = { ...event, count, firstTimestamp: now, lastTimestamp: now };
      await this.#store.create(Events, stamped, PATIENT);
      this.#known.set(name, { count });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      // An earlier life of this component has made it.
      const before = await this.#store.get(Events, { namespace, name });
      const known = { count: (before.count ?? 1) + count };
      await this.#raise(event, known.count);
      this.#known.set(name, known);
    }
  }

  async #raise({ metadata, message, type }: KubeEvent, count: number): Promise<void> {
    const { name, namespace = "default" } = metadata;
    const body = { count, lastTimestamp: this.#now(), message, type };
    await this.#store.patch(Events, { namespace, name }, { type: "merge", body }, PATIENT);
  }

  #compose(subject: EventSubject, type: string, reason: string, text: string): KubeEvent {
    const { name, namespace, uid, resourceVersion } = subject.metadata;
    const message = this.#similar.message(`${uid}/${reason}`, text.slice(0, MAX_MESSAGE), this.#clock());
    const identity = [this.#component, this.#host, subject.kind, uid ?? name, type, reason, message.identity];
    const hash = createHash("sha256").update(identity.join("\n")).digest("hex").slice(0, 16);
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${beginningOf(name)}.${hash}`, namespace: namespace || "default" },
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

/** As much of an object's name as an event's has room for: in front of the dot before the hash, a letter or a digit. */
function beginningOf(name: string): string {
  return name.slice(0, 236).replace(/[-.]+$/, "");
}

/** Two objects of one kind and name follow each other: the UID distinguishes them. */
function aboutOf({ involvedObject }: KubeEvent): string {
  const { kind, namespace, name, uid } = involvedObject;
  return [kind, namespace, name, uid].join("/");
}
