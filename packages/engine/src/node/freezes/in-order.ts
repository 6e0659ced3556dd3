import { performance } from "node:perf_hooks";
import type { Freezer } from "../../host/freezer/freezer.ts";

/**
 * One freeze of several that are begun one after the other, each when the one before is still, within a common time.
 * They are thawed at the same time.
 */
export function inOrder(steps: readonly Freezer[], maxSeconds: number): Freezer {
  const thaw = async (): Promise<boolean> => {
    const thaws = await Promise.allSettled(steps.map((step) => step.thaw()));
    const failed = thaws.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return thaws.every((result) => result.status === "fulfilled" && result.value);
  };
  const freeze = async (): Promise<void> => {
    const end = performance.now() + maxSeconds * 1000;
    try {
      for (const step of steps) await step.freeze((end - performance.now()) / 1000);
    } catch (error) {
      await thaw().catch(() => {});
      throw error;
    }
  };
  return { freeze, thaw };
}
