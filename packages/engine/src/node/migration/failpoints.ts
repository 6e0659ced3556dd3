import { stepFailpoints } from "@mooring/store";
import type { MigrationStep } from "./decide.ts";

/** Passed behind every step of a migration. */
export const migrationFailpoints = stepFailpoints<Exclude<MigrationStep, { do: "wait" }>>(
  "engine/migration",
  {
    "withhold-device": true,
    fence: true,
    "drop-device": true,
    "close-source": true,
    "hand-over": true,
    "take-lease": true,
    "activate-device": true,
    record: {
      "target-ready": true,
      "target-lost": true,
      "target-closed": true,
      "target-gone": true,
      moved: true,
    },
  },
);
