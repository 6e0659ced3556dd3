import type { NodeAgent } from "../api/node-agent.ts";
import { nodeConditions } from "../api/node-conditions.ts";

/** As the observer of silent nodes writes it. */
export function reportNode(state: "Suspect" | "Fenced"): (agent: NodeAgent) => void {
  return (agent) => {
    const report = { state, reason: "Test", message: "reported by a test" };
    const conditions = nodeConditions(agent.status, report, new Date());
    agent.status = { ...agent.status, state, conditions };
  };
}
