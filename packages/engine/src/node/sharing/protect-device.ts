import { EngineError } from "../../errors.ts";
import type { LoopAttachment } from "../../host/host.ts";
import type { Image } from "../../pools/image.ts";
import type { AgentContext } from "../context.ts";
import type { OpenPool } from "../open-pools.ts";

/** Somebody else has the lease, or nobody: what was opened under it must not be used. */
export class LeaseLost extends EngineError {
  constructor(image: string) {
    super("ABORTED", `the lease of ${image} was lost`);
  }
}

/**
 * Before anything can be written to a device of a shared pool: it works for as long as the lease does, and the record of the lease has those who
 * have the image open, so that whoever takes it from here finds them. A cluster forgets clients that stand still, unless they have written.
 * Throws {@link LeaseLost}: the cluster shuts out whom it finds, and who has opened the image since then sees by the record that it is not his.
 */
export async function protectDevice(
  { sharing, signal }: Pick<AgentContext, "sharing" | "signal">,
  { layout, backend }: OpenPool,
  image: Pick<Image, "id" | "path">,
  device: LoopAttachment,
): Promise<void> {
  if (sharing === undefined) return;
  const { leases } = sharing;
  if (layout.remote) {
    const clients = await backend.devices.clients(image);
    if (!(await leases.recordClients(image.id, clients, signal))) throw new LeaseLost(image.id);
  }
  await leases.protect(image.id, device);
}
