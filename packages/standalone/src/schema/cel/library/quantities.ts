import type { Environment } from "@marcbachmann/cel-js";
import { QUANTITY_ERROR, type Quantity, readQuantity } from "@mooring/store";

const NANO = 1_000_000_000n;

class QuantityValue {
  readonly value: Quantity;
  constructor(value: Quantity) {
    this.value = value;
  }
}

function quantity(text: string): QuantityValue {
  const value = readQuantity(text);
  if (value === undefined) throw new Error(QUANTITY_ERROR);
  return new QuantityValue(value);
}

function whole(q: QuantityValue): boolean {
  return q.value.nano % NANO === 0n;
}
function plus(a: QuantityValue, nano: bigint): QuantityValue {
  return new QuantityValue({ nano: a.value.nano + nano, format: a.value.format });
}

/** Kubernetes' quantity library. */
export function registerQuantities(env: Environment): void {
  const compare = (a: QuantityValue, b: QuantityValue): bigint =>
    a.value.nano < b.value.nano ? -1n : a.value.nano > b.value.nano ? 1n : 0n;
  env
    .registerType("Quantity", QuantityValue)
    .registerFunction("quantity(string): Quantity", quantity)
    .registerFunction("isQuantity(string): bool", (text: string) => readQuantity(text) !== undefined)
    .registerFunction("Quantity.sign(): int", (q: QuantityValue) => compare(q, quantity("0")))
    .registerFunction("Quantity.isInteger(): bool", whole)
    .registerFunction("Quantity.asInteger(): int", (q: QuantityValue) => {
      if (!whole(q)) throw new Error("cannot convert value to integer");
      return q.value.nano / NANO;
    })
    .registerFunction(
      "Quantity.asApproximateFloat(): double",
      (q: QuantityValue) => Number(q.value.nano) / 1e9,
    )
    .registerFunction("Quantity.compareTo(Quantity): int", compare)
    .registerFunction(
      "Quantity.isGreaterThan(Quantity): bool",
      (a: QuantityValue, b: QuantityValue) => compare(a, b) > 0n,
    )
    .registerFunction(
      "Quantity.isLessThan(Quantity): bool",
      (a: QuantityValue, b: QuantityValue) => compare(a, b) < 0n,
    )
    .registerFunction("Quantity.add(Quantity): Quantity", (a: QuantityValue, b: QuantityValue) =>
      plus(a, b.value.nano),
    )
    .registerFunction("Quantity.add(int): Quantity", (a: QuantityValue, b: bigint) => plus(a, b * NANO))
    .registerFunction("Quantity.sub(Quantity): Quantity", (a: QuantityValue, b: QuantityValue) =>
      plus(a, -b.value.nano),
    )
    .registerFunction("Quantity.sub(int): Quantity", (a: QuantityValue, b: bigint) => plus(a, -b * NANO));
}
