import { CORE_MESSAGES } from "./core-messages.ts";
import { OTHER_MESSAGES } from "./other-messages.ts";
import { WORKLOAD_MESSAGES } from "./workload-messages.ts";

/** Messages of the built-in kinds by name: `core.Pod`, `meta.ObjectMeta`. */
export const MESSAGES: Readonly<Record<string, string>> = {
  ...CORE_MESSAGES,
  ...OTHER_MESSAGES,
  ...WORKLOAD_MESSAGES,
};
