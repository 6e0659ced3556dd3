import { Leases } from "@mooring/store";
import type { ControllerName } from "../controllers.ts";
import type { LeaderElectionOptions } from "../options.ts";
import { READS } from "./reads.ts";
import { EVERY_CONTROLLER, type Right, WRITES } from "./writes.ts";

/** Rights, by what needs them: the name of a controller, or words. */
export type Needs = ReadonlyMap<string, readonly Right[]>;

/** What these controllers need: a process asks for it at its start, `doctor` for the accounts of a cluster. */
export function controllerNeeds(names: readonly ControllerName[]): Needs {
  return new Map(names.map((name) => [name, [...READS[name], ...WRITES[name], ...EVERY_CONTROLLER]]));
}

/** What the candidates of an election need; nothing where one process leads all the time. */
export function electionNeeds(leaderElection: LeaderElectionOptions | undefined): Needs {
  if (leaderElection === undefined) return new Map();
  const inNamespace = leaderElection.namespace ?? true;
  return new Map([
    ["leader election", [{ resource: Leases, verbs: ["get", "create", "update"], inNamespace }]],
  ]);
}
