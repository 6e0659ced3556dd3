import type { KubeObject } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { SNAPSHOT_MANAGED_BY } from "../common/names.ts";
import type { ContentCalls } from "./calls.ts";
import { contentRequestKey } from "./decide.ts";
import type { ContentKind, ContentTypes, ContentView } from "./kind.ts";

/** Where each node has a process of its own, no process takes a content that names no node. */
function isContentHere(here: SidecarContext["here"], { metadata }: KubeObject): boolean {
  return here === undefined || metadata.labels?.[SNAPSHOT_MANAGED_BY] === here.node;
}

/** Everything that the next step for the content of this name depends on. `fresh`: the server is asked for the content. */
export async function readContent<T extends ContentTypes>(
  kind: ContentKind<T>,
  calls: ContentCalls<T>,
  {
    cluster,
    driver,
    here,
    namePrefix,
  }: Pick<SidecarContext, "cluster" | "driver" | "here"> & {
    namePrefix: string;
  },
  { name, fresh }: { name: string; fresh: boolean },
): Promise<ContentView<T>> {
  const contents = kind.cache(cluster);
  const found = fresh ? await contents.refresh(name) : contents.get(name);
  const content = found !== undefined && isContentHere(here, found) ? found : undefined;
  const uid = content?.metadata.uid ?? "";
  const className = content === undefined ? undefined : kind.className(content);
  const view: ContentView<T> = {
    driver: driver.info.name,
    content,
    contentClass: kind.classes(cluster).get(className ?? ""),
    namePrefix,
    result: calls.results.get(uid),
    mayExist: calls.uncertainty.has(uid),
    backoffMs: 0,
  };
  const handle = content === undefined ? undefined : kind.handle(content);
  // No user waits any more for what is being deleted to get ready.
  const isPolled = content !== undefined && content.metadata.deletionTimestamp === undefined;
  const polled = isPolled ? calls.polls.remaining(uid, handle ?? "") : 0;
  const backoff = calls.backoff.remaining(uid, () => contentRequestKey(kind, view));
  return { ...view, backoffMs: Math.max(polled, backoff) };
}
