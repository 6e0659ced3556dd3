import type { Environment } from "@marcbachmann/cel-js";
import { spend } from "../../budget.ts";
import { sizeOf } from "../cost.ts";
import { compareValues, equalValues } from "./show.ts";

/** Kubernetes' list library and the sets extension. */
export function registerLists(env: Environment): void {
  class SetsNamespace {}
  env
    .registerFunction("list.isSorted(): bool", (list: unknown[]) =>
      costingEach(list).every((item, i) => i === 0 || compareValues(list[i - 1], item) <= 0),
    )
    .registerFunction("list.sum(): dyn", sum)
    .registerFunction("list.min(): dyn", (list: unknown[]) => extreme(list, -1))
    .registerFunction("list.max(): dyn", (list: unknown[]) => extreme(list, 1))
    .registerFunction("list.indexOf(dyn): int", (list: unknown[], wanted: unknown) =>
      BigInt(costing(list, [wanted]).findIndex((item) => equalValues(item, wanted))),
    )
    .registerFunction("list.lastIndexOf(dyn): int", (list: unknown[], wanted: unknown) =>
      BigInt(costing(list, [wanted]).findLastIndex((item) => equalValues(item, wanted))),
    )
    .registerFunction("list.distinct(): list<dyn>", (list: unknown[]) =>
      costing(list, list).filter((item, i) => list.findIndex((other) => equalValues(item, other)) === i),
    )
    .registerFunction("list.sort(): list<dyn>", (list: unknown[]) =>
      [...costingEach(list)].sort(compareValues),
    )
    .registerFunction("list.reverse(): list<dyn>", (list: unknown[]) => [...costingEach(list)].reverse())
    .registerFunction("list.flatten(): list<dyn>", (list: unknown[]) => costingEach(list).flat(1))
    .registerFunction("list.slice(int, int): list<dyn>", (list: unknown[], from: bigint, to: bigint) => {
      if (from < 0n || to > BigInt(list.length) || from > to) throw new Error("slice out of range");
      spend(Number(to - from) / 10);
      return list.slice(Number(from), Number(to));
    })
    .registerType("SetsNamespace", SetsNamespace)
    .registerConstant("sets", "SetsNamespace", new SetsNamespace())
    .registerFunction("SetsNamespace.contains(list, list): bool", (_: unknown, a: unknown[], b: unknown[]) =>
      covers(a, b),
    )
    .registerFunction(
      "SetsNamespace.equivalent(list, list): bool",
      (_: unknown, a: unknown[], b: unknown[]) => covers(a, b) && covers(b, a),
    )
    .registerFunction(
      "SetsNamespace.intersects(list, list): bool",
      (_: unknown, a: unknown[], b: unknown[]) =>
        costing(a, b).some((item) => b.some((other) => equalValues(item, other))),
    );
}

const covers = (a: unknown[], b: unknown[]): boolean =>
  costing(b, a).every((item) => a.some((other) => equalValues(item, other)));

/** The list, once it is paid for that each of it is compared with each of the other one. */
function costing(list: unknown[], others: unknown[]): unknown[] {
  spend((sizeOf(list) * Math.max(1, others.length) + sizeOf(others) * list.length) / 20);
  return list;
}

/** The list, once it is paid for that each of it is read. */
function costingEach(list: unknown[]): unknown[] {
  spend(sizeOf(list) / 5);
  return list;
}

function sum(list: unknown[]): unknown {
  if (costingEach(list).every((item) => typeof item === "bigint"))
    return list.reduce<bigint>((a, b) => a + (b as bigint), 0n);
  if (list.every((item) => typeof item === "number"))
    return list.reduce<number>((a, b) => a + (b as number), 0);
  throw new Error("sum needs a list of numbers");
}

function extreme(list: unknown[], sign: -1 | 1): unknown {
  if (list.length === 0) throw new Error(`${sign < 0 ? "min" : "max"} called on empty list`);
  return costingEach(list).reduce((a, b) => (compareValues(b, a) * sign > 0 ? b : a));
}
