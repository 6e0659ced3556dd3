import type { Informer } from "./informer.ts";

/** Starts informers; resolves when every copy is complete. `done` settles when all watches have ended, after the signal. */
export async function openInformers(
  informers: readonly Pick<Informer<never>, "run" | "synced">[],
  signal: AbortSignal,
): Promise<{ done: Promise<void> }> {
  const done = Promise.all(informers.map((each) => each.run(signal))).then(() => {});
  await Promise.all(informers.map((each) => each.synced(signal)));
  return { done };
}
