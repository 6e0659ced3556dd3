import type { Runtime } from "../../runtime/index.ts";
import type { Container } from "./field-ref.ts";

const POST_START_TIMEOUT_MS = 60_000;

/**
 * Runs lifecycle.postStart; when it fails the container is killed, as in Kubernetes. `unwanted`: the container is to end anyway,
 * and the hook with it.
 */
export async function runPostStart(
  runtime: Runtime,
  { container: { lifecycle }, id }: { container: Container; id: string },
  unwanted: AbortSignal,
): Promise<void> {
  const command = lifecycle?.postStart?.exec?.command;
  if (command === undefined) return;
  const limits = { timeoutMs: POST_START_TIMEOUT_MS, signal: unwanted };
  const { exitCode, output } = await runtime.exec(id, command, limits);
  if (exitCode === 0 || unwanted.aborted) return;
  await runtime.stop(id, { graceMs: 0 });
  throw new Error(`PostStartHookError: command exited with ${exitCode}: ${output.slice(-512)}`);
}

/** Runs lifecycle.preStop within the grace period. Its result does not matter: the container ends anyway. */
export async function runPreStop(
  runtime: Runtime,
  { container: { lifecycle }, id }: { container: Container; id: string },
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  const command = lifecycle?.preStop?.exec?.command;
  if (command === undefined || graceMs <= 0) return;
  await runtime.exec(id, command, { timeoutMs: graceMs, signal }).catch(() => {});
}
