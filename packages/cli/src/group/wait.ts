import {
  type KubeObject,
  type ObjectKey,
  type ObjectStore,
  type Resource,
  waitFor,
  withTimeLimit,
} from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

/** What to wait for: `done` true ends it well, a text is why it will not come by itself. */
export interface Wait<T> {
  seconds: number;
  done(object: T | undefined): boolean | string;
  /** What is known when the time is over. */
  last(object: T | undefined): string;
  /** What to print while it lasts, each time that it changes; undefined: nothing. */
  progress(object: T | undefined): string | undefined;
  /** `mooring why ...` */
  next: string;
}

/** Waits for one object, printing on stderr what for; throws with exit code 1 when it fails or the time is over. */
export async function waitForObject<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  key: ObjectKey,
  { done, last, next, progress, seconds }: Wait<T>,
): Promise<T | undefined> {
  const signal = withTimeLimit(seconds * 1000);
  let seen: T | undefined;
  let reported: string | undefined;
  const failure = () => {
    const result = done(seen);
    return typeof result === "string" ? result : undefined;
  };
  try {
    const accept = (object: T | undefined) => {
      seen = object;
      if (done(object) !== false) return true;
      const now = progress(object);
      if (now !== undefined && now !== reported)
        process.stderr.write(`waiting: ${resource.kind} ${key.name}: ${now}\n`);
      reported = now;
      return false;
    };
    seen = await waitFor(store, { resource, key }, accept, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    const message = `${resource.kind} ${key.name}: after ${seconds} s ${last(seen)}`;
    throw new CommandError(message, { next, exitCode: EXIT.negative });
  }
  const why = failure();
  if (why === undefined) return seen;
  throw new CommandError(`${resource.kind} ${key.name}: ${why}`, { next, exitCode: EXIT.negative });
}
