import { converge, REST } from "../../converge.ts";
import type { AgentContext } from "../context.ts";
import { applyMigrationStep } from "./apply.ts";
import { decideMigration } from "./decide.ts";
import { type MigrationReading, readMigration } from "./read.ts";

/** Takes this node's part of a volume's migration as far as it can go now; the volume's ordinary work comes after it. */
export async function reconcileMigration(context: AgentContext, name: string): Promise<void> {
  await converge({
    read: () => readMigration(context, name),
    decide: (view: MigrationReading) => {
      const step = decideMigration(view);
      return step === undefined || step.do === "wait" ? REST : step;
    },
    apply: (step, view) => applyMigrationStep(context, step, view),
  });
}
