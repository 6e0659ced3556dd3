import { keyOf, type PersistentVolumeClaim } from "@mooring/store";
import type { Notice } from "./decide-claim.ts";

/** What was reported of each claim, as it is: once per version of the claim, however often it is read. */
export class Reports {
  readonly #reported = new Map<string, string>();

  note(claim: PersistentVolumeClaim, notice: Notice): void {
    this.#reported.set(keyOf(claim), textOf(claim, notice));
  }

  has(claim: PersistentVolumeClaim, notice: Notice): boolean {
    return this.#reported.get(keyOf(claim)) === textOf(claim, notice);
  }

  /** The claim is gone. */
  forget(key: string): void {
    this.#reported.delete(key);
  }
}

function textOf({ metadata }: PersistentVolumeClaim, { message }: Notice): string {
  return `${metadata.uid}/${metadata.resourceVersion}/${message}`;
}
