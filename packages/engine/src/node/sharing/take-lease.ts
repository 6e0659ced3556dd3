import type { Volume } from "../../api/volume.ts";
import { EngineError } from "../../errors.ts";
import type { AgentContext } from "../context.ts";

/** Another node holds the image. Not a failure of the volume: it is read again. */
export class LeaseHeldElsewhere extends EngineError {
  readonly retryAfterMs: number;

  constructor(image: string, holder: string, retryAfterMs: number) {
    super("UNAVAILABLE", `the image of volume ${image} is held by node "${holder}"`);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Takes the lease of a shared pool's image. Throws LeaseHeldElsewhere. */
export async function takeLease({ sharing, signal }: AgentContext, volume: Volume): Promise<void> {
  const { name } = volume.metadata;
  if (sharing === undefined) throw new EngineError("FAILED_PRECONDITION", "this node has no leases");
  const wait = await sharing.leases.acquire(volume, signal);
  if (wait !== undefined) throw new LeaseHeldElsewhere(name, wait.holder, wait.milliseconds);
}
