import type { Kubectl } from "../support/kubectl.ts";
import type { Up } from "../support/up.ts";

/** Where a situation is made. `namespace`: that of its objects. */
export interface World {
  up: Up;
  kubectl: Kubectl;
  namespace: string;
}

/** Something that is broken, made for real, and what an operator who asks about it has to learn. */
export interface Situation {
  name: string;
  /** Objects of a namespace of its own, which is filled in; those without `metadata.namespace: ""` are the cluster's. */
  objects: readonly object[];
  /** What breaks it, once the objects are there. */
  breaks?(world: World): Promise<unknown>;
  /** What the operator asks about, as KIND/NAME, or a function for names that only show then. */
  target: string | ((world: World) => Promise<string>);
  /** In what `mooring why` prints: the cause, and behind `next: ` what to do; no next step where the objects are well. */
  cause: RegExp;
  next?: RegExp;
  /** In what `mooring doctor` prints of it; absent: the same cause and the same next step. */
  doctor?: RegExp;
  /** Why `mooring doctor` has nothing to say of it: it is as its user wants it, or takes its time. */
  doctorIsSilent?: string;
}
