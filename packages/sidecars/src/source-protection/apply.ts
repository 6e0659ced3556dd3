import type { KubeObject } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { patchMetadata } from "../kube/patch.ts";
import type { Sources } from "./read.ts";

/** Takes the finalizer of its kind off a source. */
export async function releaseSource<T extends KubeObject>(
  context: SidecarContext,
  { cacheIn, finalizer }: Sources<T>,
  object: T | undefined,
): Promise<void> {
  if (object === undefined) return;
  await patchMetadata(context.store, cacheIn(context), object, { removeFinalizers: [finalizer] });
}
