import type { KubeObject } from "@mooring/store";
import { Backoff, type RequestKey } from "./backoff.ts";
import type { SidecarContext } from "./context.ts";
import { Remembered } from "./remembered.ts";

/** How long a controller leaves an object alone after it has reported what is wrong with it. Forgotten with the object. */
export class ObjectBackoff {
  readonly #backoff: Backoff;
  readonly #remembered: Remembered;

  /** `forget` is called with the UID of an object that is gone. */
  constructor(
    context: SidecarContext,
    cache: { get(key: string): KubeObject | undefined },
    forget: (uid: string) => void = () => {},
  ) {
    this.#backoff = Backoff.of(context);
    this.#remembered = new Remembered(
      (key) => cache.get(key)?.metadata.uid,
      (uid) => {
        this.#backoff.reset(uid);
        forget(uid);
      },
    );
  }

  /** Something is about to be done with the object that has the key now. */
  note(key: string, { metadata }: KubeObject): void {
    this.#remembered.note(key, metadata.uid ?? "");
  }

  /** Milliseconds that are left; 0 when `requestKey`, what the report was about, has changed. */
  remaining(object: KubeObject | undefined, requestKey: RequestKey): number {
    return this.#backoff.remaining(object?.metadata.uid ?? "", requestKey);
  }

  /** Notes a report: the next one comes later than the last. */
  fail({ metadata }: KubeObject, requestKey: string): void {
    this.#backoff.fail(metadata.uid ?? "", requestKey);
  }

  /** Work on the key has ended for now. */
  ended(key: string): void {
    this.#remembered.ended(key);
  }
}

/** Of an object, what others have decided: which one it is, whether it is being deleted, and its spec. */
export function intentOf(object: (KubeObject & { spec?: unknown }) | undefined): unknown {
  return object && [object.metadata.uid, object.metadata.deletionTimestamp, object.spec];
}
