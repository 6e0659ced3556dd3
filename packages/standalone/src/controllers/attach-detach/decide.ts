import { DONE, isDeleting, type KubeVolumeAttachment, type Node, type Outcome, wait } from "@mooring/store";
import { mayForceDetach } from "../lost-node.ts";
import { attachmentName, uniqueVolumeName } from "./names.ts";
import type { NodePlan, WantedVolume } from "./plan.ts";
import { type Problem, problemsOf } from "./problems.ts";

/** Annotation on our attachments: the volume's handle, which is in no field of the object. */
export const VOLUME_NAME_ANNOTATION = "storage.mooring.dev/unique-volume-name";

/** Everything that a node's attachments depend on. */
export interface NodeView {
  nodeName: string;
  /** Undefined when the Node object is gone: then there is no kubelet to wait for either. */
  node: Node | undefined;
  wanted: readonly WantedVolume[];
  attachments: readonly KubeVolumeAttachment[];
  /** Other nodes that the volume is attached to, or being attached to. */
  attachedElsewhere: (volume: string) => readonly string[];
}

/**
 * What to do for one node. A volume may only be detached when no pod needs it *and* the kubelet reports it as not in use:
 * the kubelet reports it before it mounts, and mounts only what is reported as attached. Both lists are in the same
 * object, so that of two racing writes one fails. Only for a node that is lost and fenced the controller does not wait for
 * the kubelet's report.
 */
export function decideNode(view: NodeView): NodePlan {
  const plan: NodePlan = { create: [], remove: [], blocked: [], attached: [], failed: [] };
  const byName = new Map(view.attachments.map((attachment) => [attachment.metadata.name, attachment]));
  const reported = new Set((view.node?.status?.volumesAttached ?? []).map(({ name }) => name));
  const inUse = new Set(view.node?.status?.volumesInUse ?? []);
  const next = new Set<string>();

  for (const wanted of view.wanted) {
    const unique = uniqueVolumeName(wanted.driver, wanted.handle);
    const name = attachmentName(wanted.handle, wanted.driver, view.nodeName);
    const attachment = byName.get(name);
    byName.delete(name);
    if (attachment === undefined) {
      const nodes = wanted.shared ? [] : view.attachedElsewhere(wanted.volume);
      if (nodes.length > 0) plan.blocked.push({ wanted, nodes });
      else plan.create.push(wanted);
      continue;
    }
    // A terminating attachment has no meaning for the volume. It must be gone before there can be a new one.
    if (isDeleting(attachment)) continue;
    if (attachment.status?.attached === true) {
      next.add(unique);
      if (!reported.has(unique)) plan.attached.push(wanted);
    }
    const message = attachment.status?.attachError?.message;
    if (message !== undefined && attachment.status?.attached !== true) plan.failed.push({ wanted, message });
  }

  for (const attachment of byName.values()) {
    const unique = attachment.metadata.annotations?.[VOLUME_NAME_ANNOTATION];
    // Made by another controller, and its to delete.
    if (unique === undefined || isDeleting(attachment)) continue;
    if (mayForceDetach(view.node, attachment)) inUse.delete(unique);
    if (!inUse.has(unique)) plan.remove.push(attachment.metadata.name);
  }
  // What is reported stays so while it is in use: the kubelet still has it mounted.
  for (const name of reported) if (inUse.has(name)) next.add(name);
  const report = [...next].sort();
  if (view.node !== undefined && !sameList(report, [...reported].sort())) plan.report = report;
  return plan;
}

/** One visible change of a node's attachments. */
export type AttachDetachStep =
  /** Reports to the pods on the node what keeps their volumes from being attached. */
  | { do: "report-problems"; problems: readonly Problem[] }
  | { do: "create-attachments"; wanted: readonly WantedVolume[] }
  /** node.status.volumesAttached, and the pods of what is new in it. */
  | { do: "report-attached"; names: readonly string[]; attached: readonly WantedVolume[] }
  | { do: "delete-attachments"; names: readonly string[] };

/** What was reported to the pods of a node already. */
export interface NodeReports {
  isReported: (problem: Problem) => boolean;
  /** Milliseconds until the first of these, which are all reported, is to be reported again. */
  repeatInMs: (problems: readonly Problem[]) => number;
}

/** The next write of a {@link NodePlan}. An attachment goes only once the node's list of what is attached is written. */
export function decideStep(view: NodeView & NodeReports): AttachDetachStep | Outcome {
  const plan = decideNode(view);
  const problems = problemsOf(plan);
  const unreported = problems.filter((problem) => !view.isReported(problem));
  if (unreported.length > 0) return { do: "report-problems", problems: unreported };
  if (plan.create.length > 0) return { do: "create-attachments", wanted: plan.create };
  if (plan.report !== undefined)
    return { do: "report-attached", names: plan.report, attached: plan.attached };
  if (plan.remove.length > 0) return { do: "delete-attachments", names: plan.remove };
  return problems.length > 0 ? wait(view.repeatInMs(problems)) : DONE;
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}
