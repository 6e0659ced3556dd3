import { firstOf, type Pod } from "@mooring/store";
import type { PodContext } from "./context.ts";

/** Does something with a signal that aborts when the pod is deleted or evicted, or the kubelet ends. */
export async function whileWanted<T>(
  { view, evictions, signal }: Pick<PodContext, "view" | "evictions" | "signal">,
  { metadata: { uid = "" } }: Pod,
  work: (unwanted: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const abortIfDeleted = (pod: Pod | undefined) => {
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) over.abort();
  };
  const end = view.pods.onChange((old, current) => {
    if ((current ?? old)?.metadata.uid === uid) abortIfDeleted(current);
  });
  const keep = evictions.onEvicted(uid, () => over.abort());
  if (evictions.why(uid) !== undefined) over.abort();
  abortIfDeleted(view.pods.byIndex("uid", uid)[0]);
  try {
    return await firstOf([over.signal, signal], work);
  } finally {
    end();
    keep();
  }
}
