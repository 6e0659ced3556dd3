import type { LibraryCall } from "../calls.ts";

/** What the process of the library is sent. */
export interface LibraryRequest {
  id: number;
  call: LibraryCall;
}

/** What it responds: the outcome, or the number of an error. `ready`, once, when it is connected. */
export type LibraryReply =
  | { ready: true }
  | { id: number; value: unknown }
  /** `absent`: there is no such image, in a pool and a namespace that are there. */
  | { id: number; errno: number; absent: boolean };

/** Of an image, as librbd has it. */
export interface LibraryInfo {
  name: string;
  id: string;
  size: number;
  features: number;
  /** Seconds since 1970, UTC. */
  madeAt: number;
  parent?: { id: string; trash: boolean };
}

/** An image in a list. */
export interface LibraryImage {
  image: string;
  /** Bytes. */
  size: number;
}
