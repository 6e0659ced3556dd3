import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { Remembered } from "../common/remembered.ts";
import { source } from "../common/source.ts";
import { applyContent } from "./apply.ts";
import { ContentCalls } from "./calls.ts";
import { decideContent } from "./decide.ts";
import type { ContentKind, ContentOptions, ContentStep, ContentTypes, ContentView } from "./kind.ts";
import { readContent } from "./read.ts";

/** The controller of one kind of contents: has the driver create and delete the data that they stand for. */
export async function runContents<T extends ContentTypes>(
  kind: ContentKind<T>,
  context: SidecarContext,
  options: ContentOptions,
  signal: AbortSignal,
): Promise<void> {
  const contents = kind.cache(context.cluster);
  const calls = new ContentCalls<T>(context, contents, signal);
  const remembered = new Remembered(
    (name) => contents.get(name)?.metadata.uid,
    (uid) => calls.forget(uid),
  );
  await contents.informer.synced(signal);
  // An earlier process may have created the data of a content that it left marked.
  for (const content of contents.list()) {
    const { annotations, uid = "" } = content.metadata;
    const isMarked = annotations?.[kind.names.beingCreated] !== undefined;
    if (isMarked && kind.handle(content) === undefined) calls.uncertainty.note(uid);
  }
  await sidecarController(context, {
    name: kind.names.controller,
    failpoints: kind.failpoints.steps,
    sources: [source(contents, ({ metadata }) => [metadata.name])],
    watched: [kind.classes(context.cluster)],
    read: (name, { cluster, driver, here }, fresh) =>
      readContent(kind, calls, { cluster, driver, here, namePrefix: options.namePrefix }, { name, fresh }),
    isGone: ({ content }: ContentView<T>) => content === undefined,
    decide: (view) => decideContent(kind, view),
    apply: async (step: ContentStep<T>, view, name) => {
      remembered.note(name, view.content?.metadata.uid ?? "");
      await applyContent({ kind, context, calls, options }, step, view);
    },
    ended: (name) => remembered.ended(name),
  }).run(signal);
}
