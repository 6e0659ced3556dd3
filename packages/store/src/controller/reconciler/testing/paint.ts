import type { TestContext } from "node:test";
import { Shelves, type shelf, type Widget, Widgets } from "../../../contract/kinds.ts";
import type { ObjectStore } from "../../../object-store.ts";
import { createInformer } from "../../informer.ts";
import type { ReconcilerOptions } from "../contract.ts";
import { reconcileCounts } from "../metrics.ts";
import { DONE } from "../outcome.ts";
import type { Collection, Reader } from "../reader.ts";
import { Reconciler } from "../reconciler.ts";
import { source } from "../source.ts";

/** A widget, and the phase that it is to have. */
export interface View {
  widget: Widget;
  phase: string;
}
/** What a painter does. */
export type Step = { do: "write-phase"; phase: string };

/** For what a shelf has as its label. */
export const labelOf = ({ data }: { data?: Record<string, string> }) => data?.["label"];

/** Writes into each widget what `phaseOf` reads for it. */
export async function paint(
  t: TestContext,
  store: ObjectStore,
  phaseOf: (
    widget: Widget,
    reader: Reader,
    caches: { shelves: Collection<Awaited<ReturnType<typeof shelf>>>; widgets: Collection<Widget> },
  ) => string | Promise<string>,
  more: Partial<ReconcilerOptions<View, Step>> = {},
) {
  const stop = new AbortController();
  const widgets = createInformer(store, Widgets, { indexers: { color: ({ spec }) => [spec?.color ?? ""] } });
  const shelves = createInformer(store, Shelves);
  const reconciler = new Reconciler<View, Step>({
    failpoints: () => {},
    name: `paint ${t.name}`,
    store,
    sources: [source(widgets, ({ metadata }) => [metadata.name])],
    watched: [shelves],
    async read(name, { reader }) {
      const own = await reader.store.get(Widgets, { namespace: "default", name }).catch(() => undefined);
      if (own === undefined) return undefined;
      return { widget: own, phase: await phaseOf(own, reader, { shelves, widgets }) };
    },
    decide: ({ widget: { status }, phase }) =>
      status?.phase === phase ? DONE : { do: "write-phase", phase },
    async apply({ phase }, view) {
      await store.updateStatus(Widgets, { ...view.widget, status: { phase } });
    },
    ...more,
  });
  const running = [widgets.run(stop.signal), shelves.run(stop.signal), reconciler.run(stop.signal)];
  t.after(async () => {
    stop.abort();
    await Promise.all(running);
  });
  await Promise.all([widgets.synced(), shelves.synced()]);
  const phase = async (name: string) =>
    (await store.get(Widgets, { namespace: "default", name })).status?.phase;
  /** How often a key was taken to its end. */
  const reconciled = () => reconcileCounts().get(`paint ${t.name}`)?.reconciled;
  return { reconciler, reconciled, phase, widgets, shelves };
}
