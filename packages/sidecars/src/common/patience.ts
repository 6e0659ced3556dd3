import type { KubeObject } from "@mooring/store";

/** A driver that has not responded by then is slow: an event for users says what is waited for. Until then the write is saved. */
const SLOW_MS = 2_000;

/** Milliseconds that a driver may still take for a content before it is slow. Clocks that disagree make it 0. */
export function patienceLeft(now: string, { metadata }: KubeObject): number {
  const ageMs = Date.parse(now) - Date.parse(metadata.creationTimestamp ?? "");
  return ageMs >= 0 && ageMs < SLOW_MS ? SLOW_MS - ageMs : 0;
}
