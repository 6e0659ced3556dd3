import type { Outcome } from "./client.ts";

/** How a program ended, as clients read it on the error channel (metav1.Status). */
export function outcomeOf(exitCode: number): Outcome {
  if (exitCode === 0) return { metadata: {}, status: "Success" };
  return {
    metadata: {},
    status: "Failure",
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(exitCode) }] },
  };
}

/** It did not begin, or it is unknown how it ended. */
export function failureOf(error: unknown): Outcome {
  const message = error instanceof Error ? error.message : String(error);
  return { metadata: {}, status: "Failure", reason: "InternalError", code: 500, message };
}
