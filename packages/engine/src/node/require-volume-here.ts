import { Volumes } from "../api/volume.ts";
import { EngineError } from "../errors.ts";
import { isAttachedTo } from "../tickets/exposure.ts";
import type { AgentContext } from "./context.ts";

/** Throws unless this node has the volume and keeps it. */
export async function requireVolumeHere(
  { store, nodeID, signal }: AgentContext,
  name: string,
): Promise<void> {
  const volume = await store.get(Volumes, { name }, signal);
  if (isAttachedTo(volume, nodeID)) return;
  throw new EngineError("ABORTED", `volume ${name} is leaving this node`, {
    hint: "it is copied when it is attached again",
  });
}
