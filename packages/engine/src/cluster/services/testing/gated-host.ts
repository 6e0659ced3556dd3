import { createHost } from "../../../host/create-host.ts";
import type { Exec, Host } from "../../../host/host.ts";

export interface GatedHost {
  host: Host;
  /** From now on commands of that name wait. */
  close: () => void;
  /** Resolves when one of them waits. */
  begun: Promise<void>;
  /** Lets it start, and all that come after it. */
  open: () => void;
}

/** A host on which commands of one name can be made to wait before they start, as work on a large volume takes long. */
export function gatedHost(program: string): GatedHost {
  const real = createHost();
  const [closed, begun, opened] = [new AbortController(), new AbortController(), new AbortController()];
  const pass = async (file: string, signal: AbortSignal | undefined): Promise<void> => {
    if (!closed.signal.aborted || file !== program) return;
    begun.abort();
    await aborted(signal === undefined ? opened.signal : AbortSignal.any([signal, opened.signal]));
    signal?.throwIfAborted();
  };
  const exec: Exec = {
    run: async (file, args, options) => {
      await pass(file, options?.signal);
      return real.exec.run(file, args, options);
    },
    try: async (file, args, options) => {
      await pass(file, options?.signal);
      return real.exec.try(file, args, options);
    },
  };
  return {
    host: { ...real, exec },
    close: () => closed.abort(),
    begun: aborted(begun.signal),
    open: () => opened.abort(),
  };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => {
    signal.addEventListener("abort", resolve, { once: true });
  });
}
