import { badRequest } from "./errors.ts";

const BINARY: readonly [suffix: string, power: bigint][] = [
  ["Ei", 60n],
  ["Pi", 50n],
  ["Ti", 40n],
  ["Gi", 30n],
  ["Mi", 20n],
  ["Ki", 10n],
];
/** Decimal suffix -> power of ten. */
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
const PATTERN = /^([+-]?)(\d+\.?\d*|\.\d+)(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?)|[eE]([+-]?\d{1,3}))$/;

/** Reads a resource quantity: `5Gi` -> 5368709120n, `1500m` -> 2n: parts of a whole are rounded up. Throws BadRequest. */
export function parseQuantity(text: string | number): bigint {
  return ceilDivide(parseNano(text), NANO);
}

/** Like {@link parseQuantity}, in thousandths: `250m` CPUs -> 250n. */
export function parseMilli(text: string | number): bigint {
  return ceilDivide(parseNano(text), MICRO);
}

const NANO = 1_000_000_000n;
const MICRO = 1_000_000n;

/** The value in billionths, the finest that a quantity can say. */
function parseNano(text: string | number): bigint {
  const match = PATTERN.exec(String(text).trim());
  if (match === null) {
    throw badRequest(
      `quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$': ${JSON.stringify(text)}`,
    );
  }
  const [, sign, digits = "0", suffix = "", exponent] = match;
  const [whole = "", fraction = ""] = digits.split(".");
  const mantissa = BigInt(`${whole}${fraction}` || "0") * (sign === "-" ? -1n : 1n);
  const binary = BINARY.find(([name]) => name === suffix)?.[1];
  if (binary !== undefined) {
    return ceilDivide(mantissa * NANO * 2n ** binary, 10n ** BigInt(fraction.length));
  }
  const power = (exponent === undefined ? (DECIMAL[suffix] ?? 0) : Number(exponent)) - fraction.length + 9;
  return power >= 0 ? mantissa * 10n ** BigInt(power) : ceilDivide(mantissa, 10n ** BigInt(-power));
}

/** Writes bytes in the largest binary unit that holds them exactly: 5368709120n -> `5Gi`, 1000n -> `1000`. */
export function formatQuantity(bytes: bigint): string {
  if (bytes === 0n) return "0";
  for (const [suffix, power] of BINARY) {
    if (bytes % 2n ** power === 0n) return `${bytes / 2n ** power}${suffix}`;
  }
  return String(bytes);
}

/** Away from zero for positive values, towards it for negative ones: never less than what was asked for. */
function ceilDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value > 0n && value % divisor !== 0n ? quotient + 1n : quotient;
}
