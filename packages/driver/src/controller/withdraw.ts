import { failpoint, isNotFound, type KubeObject, type Resource } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { waitUntil } from "../wait.ts";

const marked = failpoint("driver/withdraw/object-marked");

/** Takes away the object of an attempt that failed for good, so that nothing is left of it and the name is free. */
export async function withdraw<T extends KubeObject>(
  driver: DriverContext,
  resource: Resource<T>,
  object: T,
  signal: AbortSignal,
): Promise<void> {
  const { name, uid = "" } = object.metadata;
  try {
    await driver.store.delete(resource, { name }, { signal, preconditions: { uid } });
    marked();
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  const gone = (present: T | undefined) => present === undefined || present.metadata.uid !== uid;
  const what = `${resource.kind} "${name}" to be removed`;
  await waitUntil(driver.store, { resource, name }, { what, until: gone }, signal);
}
