import { badRequest } from "./errors.ts";

/** A resource quantity with full Kubernetes semantics (`apimachinery/pkg/api/resource`), exact to 1e-9. */
export interface Quantity {
  /** The amount in units of 1e-9, the finest that a quantity can say. */
  nano: bigint;
  format: "DecimalSI" | "BinarySI" | "DecimalExponent";
}

/** A suffix of a quantity to the power of ten that it stands for. */
export const DECIMAL_SUFFIXES: Readonly<Record<string, number>> = {
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
/** Suffixes of quantities by the power of 1024 that they stand for. */
export const BINARY_SUFFIXES: readonly string[] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const SYNTAX = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(n|u|m|k|[KMGTPE]i|[MGTPE]|[eE][+-]?\d{1,3}|)$/;
/** Of a text: digits cost more than their number, and whoever reads the object pays again. */
const LONGEST = 100;
const NANO = 1_000_000_000n;
const MICRO = 1_000_000n;

/** The error of an API server for a text that is no quantity. */
export const QUANTITY_ERROR =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/**
 * Undefined when `text` is no quantity, or has more than {@link LONGEST} characters. Fractions of 1e-9 are rounded up, as in
 * Kubernetes.
 */
export function readQuantity(text: string | number): Quantity | undefined {
  const written = String(text);
  const match = written.length > LONGEST ? null : SYNTAX.exec(written);
  if (match === null) return undefined;
  const [, sign = "", digits = "", suffix = ""] = match;
  const [whole = "", fraction = ""] = digits.split(".");
  const binary = suffix.endsWith("i") ? BINARY_SUFFIXES.indexOf(suffix) : 0;
  const exponential = /^[eE][+-]?\d/.test(suffix);
  const exponent = exponential ? Number(suffix.slice(1)) : binary > 0 ? 0 : (DECIMAL_SUFFIXES[suffix] ?? 0);
  const mantissa = BigInt(`${whole}${fraction}` || "0") * NANO * (1n << BigInt(10 * binary));
  const shift = exponent - fraction.length;
  const magnitude =
    shift >= 0 ? mantissa * 10n ** BigInt(shift) : ceilDivide(mantissa, 10n ** BigInt(-shift));
  return {
    nano: sign === "-" ? -magnitude : magnitude,
    format: exponential ? "DecimalExponent" : binary > 0 ? "BinarySI" : "DecimalSI",
  };
}

/** Reads a resource quantity: `5Gi` -> 5368709120n, `1500m` -> 2n: parts of a whole are rounded up. Throws BadRequest. */
export function parseQuantity(text: string | number): bigint {
  return ceilDivide(parseNano(text), NANO);
}

/** Like {@link parseQuantity}, in thousandths: `250m` CPUs -> 250n. */
export function parseMilli(text: string | number): bigint {
  return ceilDivide(parseNano(text), MICRO);
}

function parseNano(text: string | number): bigint {
  const written = String(text).trim();
  const quantity = readQuantity(written);
  if (quantity === undefined)
    throw badRequest(`${QUANTITY_ERROR}: ${JSON.stringify(written.slice(0, LONGEST))}`);
  return quantity.nano;
}

/** Writes bytes in the largest binary unit that expresses them exactly: 5368709120n -> `5Gi`, 1000n -> `1000`. */
export function formatQuantity(bytes: bigint): string {
  if (bytes === 0n) return "0";
  for (let power = BINARY_SUFFIXES.length - 1; power > 0; power -= 1) {
    const unit = 1n << BigInt(10 * power);
    if (bytes % unit === 0n) return `${bytes / unit}${BINARY_SUFFIXES[power]}`;
  }
  return String(bytes);
}

/** Away from zero for positive values, towards it for negative ones: never less than what was asked for. */
function ceilDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value > 0n && value % divisor !== 0n ? quotient + 1n : quotient;
}
