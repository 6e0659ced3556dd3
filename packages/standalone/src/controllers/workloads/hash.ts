import { sha256 } from "@mooring/store";

const LETTERS = "bcdfghjklmnpqrstvwxz2456789";
const LENGTH = 10;

/** A name for what a workload makes its pods from: ten letters that spell no word. `collisions`: how many were taken. */
export function hashOf(value: unknown, collisions: number): string {
  const digest = sha256(`${collisions} ${JSON.stringify(inOrder(value))}`);
  let rest = BigInt(`0x${digest}`);
  let hash = "";
  while (hash.length < LENGTH) {
    hash += LETTERS[Number(rest % BigInt(LETTERS.length))];
    rest /= BigInt(LETTERS.length);
  }
  return hash;
}

/** Fields in one order: the same value comes in any. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, child]) => [key, inOrder(child)]));
}
