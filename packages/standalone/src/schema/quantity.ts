/** Resource quantities with full Kubernetes semantics (`apimachinery/pkg/api/resource`), exact to 1e-9. */
export interface Quantity {
  /** The amount in units of 1e-9. */
  nano: bigint;
  format: "DecimalSI" | "BinarySI" | "DecimalExponent";
}

const NANO = 1_000_000_000n;
const DECIMAL: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  "": 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const SYNTAX = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(n|u|m|k|[KMGTPE]i|[MGTPE]|[eE][+-]?\d{1,3}|)$/;

export const QUANTITY_ERROR =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/** Undefined when `text` is no quantity. Fractions of 1e-9 are rounded up, as in Kubernetes. */
export function readQuantity(text: string | number): Quantity | undefined {
  const match = SYNTAX.exec(String(text));
  if (match === null) return undefined;
  const [, sign = "", digits = "", suffix = ""] = match;
  const [whole = "", fraction = ""] = digits.split(".");
  const binary = suffix.endsWith("i") ? BINARY.indexOf(suffix) : 0;
  const exponential = /^[eE]/.test(suffix) && suffix !== "E";
  const exponent = exponential ? Number(suffix.slice(1)) : binary > 0 ? 0 : (DECIMAL[suffix] ?? 0);
  const mantissa = BigInt(`${whole}${fraction}` || "0") * NANO * (1n << BigInt(10 * binary));
  const shift = exponent - fraction.length;
  const magnitude = shift >= 0 ? mantissa * 10n ** BigInt(shift) : divideUp(mantissa, 10n ** BigInt(-shift));
  return {
    nano: sign === "-" ? -magnitude : magnitude,
    format: exponential ? "DecimalExponent" : binary > 0 ? "BinarySI" : "DecimalSI",
  };
}

function divideUp(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}

/** The text that an API server stores: the largest suffix without a fraction. */
export function writeQuantity(quantity: Quantity): string {
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
  const suffix = Object.keys(DECIMAL).find((key) => DECIMAL[key] === exponent) ?? "";
  return `${sign}${value}${suffix}`;
}

function writeBinary(whole: bigint): string {
  let value = whole;
  let power = 0;
  while (power < BINARY.length - 1 && value % 1024n === 0n) {
    value /= 1024n;
    power += 1;
  }
  return `${value}${BINARY[power] ?? ""}`;
}

/** Canonical text, or undefined when `text` is no quantity. */
export function normalizeQuantity(text: string | number): string | undefined {
  const quantity = readQuantity(text);
  return quantity === undefined ? undefined : writeQuantity(quantity);
}

/** -1, 0 or 1; texts that are no quantities count as 0. */
export function compareQuantities(a: string | number | undefined, b: string | number | undefined): number {
  const left = a === undefined ? 0n : (readQuantity(a)?.nano ?? 0n);
  const right = b === undefined ? 0n : (readQuantity(b)?.nano ?? 0n);
  return left < right ? -1 : left > right ? 1 : 0;
}
