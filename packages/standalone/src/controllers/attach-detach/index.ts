import {
  EventRecorder,
  type Logger,
  type ObjectStore,
  Reconciler,
  source,
  stepFailpoints,
  WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { applyStep } from "./apply.ts";
import { type AttachDetachStep, decideStep } from "./decide.ts";
import { ReportedProblems } from "./problems.ts";
import { type ReadNode, readNode } from "./read.ts";

const failpoints = stepFailpoints<AttachDetachStep>("standalone/attach-detach", {
  "report-problems": true,
  "create-attachments": true,
  "report-attached": true,
  "delete-attachments": true,
});

/** A failure that lasts is reported again after so many milliseconds. */
const REPEAT_MS = 60_000;

interface AttachDetachOptions {
  store: ObjectStore;
  view: ClusterView;
  logger: Logger;
  signal: AbortSignal;
  /** Whether the attacher of a driver is in this process; default: of none. */
  hasAttacher?: (driver: string) => boolean;
}

/** Keeps storage.k8s.io VolumeAttachments as the pods on each node need them. Keys are names of nodes. */
export async function startAttachDetach(options: AttachDetachOptions): Promise<{ done: Promise<void> }> {
  const { store, view, logger, signal, hasAttacher = () => false } = options;
  const events = new EventRecorder(store, { component: "attachdetach-controller", logger });
  const nodes = new WrittenCache(store, view.nodes);
  const attachments = new WrittenCache(store, view.attachments);
  const changed = new Map<string, number>();
  const reported = new ReportedProblems(REPEAT_MS);
  const context = { store, events, view, nodes, attachments, reported, changed, hasAttacher };
  /** A node that is there has a key of its own, and has read the pods and attachments of its name. */
  const unlessThere = (nodeName: string | undefined) =>
    nodeName === undefined || nodeName === "" || view.nodes.get(nodeName) !== undefined ? [] : [nodeName];
  const controller = new Reconciler<ReadNode, AttachDetachStep>({
    ...{ name: "attach-detach", store, logger, failpoints, concurrency: 2 },
    sources: [
      source(view.nodes, (node) => [node.metadata.name]),
      source(view.pods, ({ spec }) => unlessThere(spec?.nodeName)),
      source(view.attachments, ({ spec }) => unlessThere(spec?.nodeName)),
    ],
    watched: [view.claims, view.volumes, view.drivers, view.csiNodes],
    read: (nodeName, from) => readNode(nodeName, context, from),
    isGone: ({ node, attachments, wanted }) => node === undefined && attachments.length + wanted.length === 0,
    decide: decideStep,
    async apply(step, node) {
      await applyStep(step, node, context);
      changed.set(node.nodeName, performance.now());
    },
  });
  return { done: controller.run(signal).then(() => events.flush()) };
}
