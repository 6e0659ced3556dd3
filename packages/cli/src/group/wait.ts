import { type KubeObject, type ObjectStore, type Resource, waitFor, withTimeLimit } from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

/** Which object is waited for, and for how long at the most. */
export interface Waiting {
  namespace: string;
  name: string;
  seconds: number;
}

/** What to wait for: `done` true ends it well, a text is why it will not come by itself. */
export interface Wait<T> {
  done(object: T | undefined): boolean | string;
  /** What is known when the time is over. */
  last(object: T | undefined): string;
  /** What to print while it lasts, each time that it changes; undefined: nothing. */
  progress(object: T | undefined): string | undefined;
  /** What `mooring why` calls the kind; default: its name. */
  alias?: string;
}

/** An object that shows in its status how far it is. */
export interface Phased extends KubeObject {
  status?: { phase: string; message: string };
}

/** Waits for one object, printing on stderr what for; throws with exit code 1 when it fails or the time is over. */
export async function waitForObject<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  { name, namespace, seconds }: Waiting,
  { done, last, progress, alias = resource.kind.toLowerCase() }: Wait<T>,
): Promise<T | undefined> {
  const key = { namespace, name };
  const next = `mooring why ${alias}/${name} -n ${namespace}`;
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
        process.stderr.write(`waiting: ${resource.kind} ${name}: ${now}\n`);
      reported = now;
      return false;
    };
    seen = await waitFor(store, { resource, key }, accept, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    const message = `${resource.kind} ${name}: after ${seconds} s ${last(seen)}`;
    throw new CommandError(message, { next, exitCode: EXIT.negative });
  }
  const why = failure();
  if (why === undefined) return seen;
  throw new CommandError(`${resource.kind} ${name}: ${why}`, { next, exitCode: EXIT.negative });
}

/** Until the object comes to this phase; `Failed` ends it at once. `untaken`: what to ask where nothing has taken it up. */
export function untilPhase<T extends Phased>(
  store: ObjectStore,
  resource: Resource<T>,
  waiting: Waiting,
  { phase, untaken }: { phase: string; untaken: string },
): Promise<T | undefined> {
  return waitForObject(store, resource, waiting, {
    done: (object) => {
      if (object === undefined) return "it was deleted";
      if (object.status?.phase === "Failed") return object.status.message;
      return object.status?.phase === phase;
    },
    last: (object) => object?.status?.message ?? `nothing has taken it up: ${untaken}`,
    progress: (object) => object?.status?.message,
  });
}

/** `shop/again: Ready: 2 of 2 claims are bound`, as commands print it. */
export function phaseLine({ metadata, status }: Phased): string {
  return `${metadata.namespace}/${metadata.name}: ${status?.phase ?? "Waiting"}: ${status?.message ?? ""}\n`;
}
