import { defined } from "../../object/defined.ts";
import type { UnstructuredObject } from "../../object/meta.ts";
import type { ResourceDefinition, StrategyContext } from "../registry.ts";

/** Everything a rule may use: no clock, no randomness beyond what is here. */
export interface RuleContext {
  definition: ResourceDefinition;
  subresource?: string;
  dryRun: boolean;
  fieldManager?: string;
  /** RFC 3339, whole seconds. */
  now: string;
  lookup?: NonNullable<StrategyContext["lookup"]>;
  collect?: NonNullable<StrategyContext["collect"]>;
}

/** What a rule decided: store the object, remove it, or leave everything as it is. */
export interface Decision {
  action: "store" | "remove" | "keep";
  object: UnstructuredObject;
}

/** What a kind's own rules may know of the request. */
export function strategyContext(context: RuleContext): StrategyContext {
  return {
    dryRun: context.dryRun,
    ...defined({
      subresource: context.subresource,
      fieldManager: context.fieldManager,
      lookup: context.lookup,
      collect: context.collect,
    }),
  };
}

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export function timestamp(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}
