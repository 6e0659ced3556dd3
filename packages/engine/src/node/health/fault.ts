import type { FaultCause } from "../../api/faults.ts";

/** What a check of an attached volume has found. */
export interface Fault {
  cause: Extract<FaultCause, "device" | "filesystem">;
  message: string;
}
