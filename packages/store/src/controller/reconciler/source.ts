import type { KubeObject } from "../../object/meta.ts";
import type { Informer } from "../informer.ts";

/** Objects that a controller follows, and the keys of work that a change of one of them means. */
export interface ControllerSource<T extends KubeObject = KubeObject> {
  informer: Informer<T>;
  keys(object: T): string[];
  /**
   * Whether a step may follow from the object as it is; default: always. One of which nothing follows asks for no key that has not
   * read it. Resyncs ask for its keys all the same, so a wrong result shows.
   */
  matters?(object: T): boolean;
}

/** A source of one kind, for a list of several kinds. */
export function source<T extends KubeObject>(
  informer: Informer<T>,
  keys: (object: T) => string[],
  matters: (object: T) => boolean = () => true,
): ControllerSource {
  // Sound: both functions are only ever given objects of this informer.
  return { informer, keys, matters } as unknown as ControllerSource;
}
