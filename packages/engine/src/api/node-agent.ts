import { type Condition, defineResource, type KubeObject } from "@mooring/store";
import { MOORING_GROUP, MOORING_VERSION } from "./names.ts";

/** A node that can hold volumes; the name is the CSI node id. */
export interface NodeAgent extends KubeObject {
  spec: { topology?: Record<string, string> };
  status?: {
    state: "Ready" | "Suspect" | "Fenced" | "Gone";
    heartbeat?: string;
    /** Which agent speaks for the node: one state folder of one machine. */
    holder?: string;
    version?: string;
    conditions?: Condition[];
  };
}

export const NodeAgents = defineResource<NodeAgent>(
  MOORING_GROUP,
  MOORING_VERSION,
  "NodeAgent",
  "nodeagents",
  false,
);
