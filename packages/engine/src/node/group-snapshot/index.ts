import { converge } from "../../converge.ts";
import type { AgentContext } from "../context.ts";
import { applyGroupStep } from "./apply.ts";
import { decide, type GroupView } from "./decide.ts";
import { readGroup } from "./read.ts";

/** Takes this node's part of a group snapshot as far as it can go now. Failures are told on the object. */
export async function reconcileGroup(context: AgentContext, name: string): Promise<void> {
  await converge({
    read: () => readGroup(context, name),
    decide: (view: GroupView) => decide(view),
    apply: (step, view) => applyGroupStep(context, step, name, view),
  });
}
