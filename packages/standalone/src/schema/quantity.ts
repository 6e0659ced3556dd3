import { BINARY_SUFFIXES, DECIMAL_SUFFIXES, type Quantity, readQuantity } from "@mooring/store";

const NANO = 1_000_000_000n;

/** The text that an API server stores: the largest suffix without a fraction. */
function writeQuantity(quantity: Quantity): string {
  const negative = quantity.nano < 0n;
  const nano = negative ? -quantity.nano : quantity.nano;
  if (nano === 0n) return "0";
  const sign = negative ? "-" : "";
  if (quantity.format === "BinarySI" && nano % NANO === 0n && nano >= 1024n * NANO) {
    return sign + writeBinary(nano / NANO);
  }
  let value = nano;
  let exponent = -9;
  while (exponent < 18 && value % 1000n === 0n) {
    value /= 1000n;
    exponent += 3;
  }
  if (quantity.format === "DecimalExponent") return `${sign}${value}${exponent === 0 ? "" : `e${exponent}`}`;
  const suffix = Object.keys(DECIMAL_SUFFIXES).find((key) => DECIMAL_SUFFIXES[key] === exponent) ?? "";
  return `${sign}${value}${suffix}`;
}

function writeBinary(whole: bigint): string {
  let value = whole;
  let power = 0;
  while (power < BINARY_SUFFIXES.length - 1 && value % 1024n === 0n) {
    value /= 1024n;
    power += 1;
  }
  return `${value}${BINARY_SUFFIXES[power] ?? ""}`;
}

/** Canonical text, or undefined when `text` is no quantity. */
export function normalizeQuantity(text: string | number): string | undefined {
  const quantity = readQuantity(text);
  const canonical = quantity === undefined ? "" : writeQuantity(quantity);
  // Written out it may be longer than a quantity may be.
  return readQuantity(canonical) === undefined ? undefined : canonical;
}

/** Whether the amount has no fraction; texts that are no quantities count as 0. */
export function isInteger(text: string | number): boolean {
  return (readQuantity(text)?.nano ?? 0n) % NANO === 0n;
}

/** -1, 0 or 1; texts that are no quantities count as 0. */
export function compareQuantities(a: string | number | undefined, b: string | number | undefined): number {
  const left = a === undefined ? 0n : (readQuantity(a)?.nano ?? 0n);
  const right = b === undefined ? 0n : (readQuantity(b)?.nano ?? 0n);
  return left < right ? -1 : left > right ? 1 : 0;
}
