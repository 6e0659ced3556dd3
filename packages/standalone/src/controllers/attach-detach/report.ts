import type { EventRecorder } from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import type { NodePlan } from "./decide.ts";
import { podsUsing } from "./wanted.ts";

/** A node is looked at after every change on it; the same trouble is not news each time. */
const REPEAT_MS = 60_000;

/** Tells the pods on a node what keeps their volumes from being attached. */
export type ReportProblems = (nodeName: string, plan: Pick<NodePlan, "blocked" | "failed">) => void;

export function reportProblems(
  view: Pick<ClusterView, "pods" | "claims">,
  events: EventRecorder,
): ReportProblems {
  const told = new Map<string, { message: string; at: number }>();

  function tell(nodeName: string, volume: string, message: string): void {
    const key = `${nodeName}/${volume}`;
    const last = told.get(key);
    if (last?.message === message && Date.now() - last.at < REPEAT_MS) return;
    told.set(key, { message, at: Date.now() });
    for (const pod of podsUsing(view, volume, nodeName))
      events.event(pod, "Warning", "FailedAttachVolume", message);
  }

  return (nodeName, plan) => {
    for (const { wanted, nodes } of plan.blocked) {
      const where = nodes.map((node) => `"${node}"`).join(", ");
      const what = `Multi-Attach error for volume "${wanted.volume}"`;
      const advice = "it is detached there as soon as no pod on that node uses it";
      tell(
        nodeName,
        wanted.volume,
        `${what}: it is attached to node ${where} and may be attached to one node only; ${advice}`,
      );
    }
    for (const { wanted, message } of plan.failed) {
      tell(nodeName, wanted.volume, `AttachVolume.Attach failed for volume "${wanted.volume}" : ${message}`);
    }
    const troubled = new Set(
      [...plan.blocked, ...plan.failed].map(({ wanted }) => `${nodeName}/${wanted.volume}`),
    );
    for (const key of told.keys()) if (key.startsWith(`${nodeName}/`) && !troubled.has(key)) told.delete(key);
  };
}
