import type { PodFacts } from "./pod.ts";

/** One control of the Pod Security Standards, as it is for a range of minor versions of Kubernetes. */
export interface Control {
  /** Also its place in a message. */
  id: string;
  since: number;
  /** The first minor version that has another form of it, or none. */
  until?: number;
  /** Controls of the level below that this one stands in for. */
  replaces?: readonly string[];
  /** What of the pod is forbidden; undefined: nothing. */
  check(pod: PodFacts, minor: number): string | undefined;
}
