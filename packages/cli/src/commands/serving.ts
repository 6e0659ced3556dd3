// The commands that stay in the foreground and serve: a bundle of their own, as they need nearly everything.

import { collectWhenIdle, keepHeapSmall, trimHeap } from "@mooring/store";

export { reportError } from "../output/report-error.ts";
export { serveSleepers } from "../process/serve-sleepers.ts";
export { controllerCommand } from "./controller.ts";
export { driverCommand } from "./driver.ts";
export { nodeCommand } from "./node.ts";
// Not for its own sake: it shares the making of tokens with the server that takes them.
export { tokenCommand } from "./token.ts";
export { upCommand } from "./up.ts";

/** Gives back memory that is not used. Called before anything else of them. */
export function saveMemory(): void {
  keepHeapSmall();
  collectWhenIdle(trimHeap);
}
