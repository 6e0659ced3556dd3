/** For `eventually`. A real API server and every `kubectl` take their turns on a busy machine, and being late is no failure. */
export const PATIENT = { withinMs: 600_000 };
