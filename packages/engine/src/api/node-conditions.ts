import type { Condition } from "@mooring/store";
import type { NodeAgent } from "./node-agent.ts";

type Status = NonNullable<NodeAgent["status"]>;

/** What is reported of a node, by its agent or about its silence. */
export interface NodeReport {
  state: Status["state"];
  reason: string;
  message: string;
}

/** State -> what the conditions are. `Fenced` is what a second writer waits for. */
const VALUES: Readonly<Record<Status["state"], { Ready: Condition["status"]; Fenced: Condition["status"] }>> =
  {
    Ready: { Ready: "True", Fenced: "False" },
    Suspect: { Ready: "Unknown", Fenced: "False" },
    Fenced: { Ready: "Unknown", Fenced: "True" },
    Gone: { Ready: "False", Fenced: "True" },
  };

/** Whether state and conditions of a node agree. */
export function isReported(status: Status | undefined, state: Status["state"]): boolean {
  const condition = (type: Condition["type"]) => status?.conditions?.find((c) => c.type === type)?.status;
  const { Ready, Fenced } = VALUES[state];
  return status?.state === state && condition("Ready") === Ready && condition("Fenced") === Fenced;
}

/** The conditions of a NodeAgent after a report; times change only where a condition does. */
export function nodeConditions(status: Status | undefined, report: NodeReport, now: Date): Condition[] {
  return (["Ready", "Fenced"] as const).map((type) => {
    const value = VALUES[report.state][type];
    const before = status?.conditions?.find((condition) => condition.type === type);
    const { reason, message } = report;
    if (before?.status === value && before.reason === reason && before.message === message) return before;
    const time = `${now.toISOString().slice(0, 19)}Z`;
    const lastTransitionTime = before?.status === value ? before.lastTransitionTime : time;
    return { type, status: value, reason, message, lastTransitionTime };
  });
}
