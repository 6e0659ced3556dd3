import type { KubeObject } from "../../object/meta.ts";
import type { Informer } from "../informer.ts";

/** Objects that a controller follows, and the keys of work that a change of one of them means. */
export interface ControllerSource<T extends KubeObject = KubeObject> {
  informer: Informer<T>;
  keys(object: T): string[];
}

/** A source of one kind, for a list of several kinds. */
export function source<T extends KubeObject>(
  informer: Informer<T>,
  keys: (object: T) => string[],
): ControllerSource {
  // Sound: `keys` is only ever given objects of this informer.
  return { informer, keys } as unknown as ControllerSource;
}
