import type { ControllerName, ControllerOptions } from "@mooring/sidecars";
import { CONTROLLERS } from "@mooring/sidecars";
import { type Command, Option } from "commander";
import { CommandError } from "../output/command-error.ts";
import { duration } from "./duration.ts";
import { switched } from "./provision-options.ts";

/** One driver and one control plane on every node, by the flags of external-provisioner and csi-snapshotter. */
export interface NodeDeploymentFlags {
  nodeDeployment: boolean;
  nodeDeploymentImmediateBinding: boolean;
  /** Milliseconds. */
  nodeDeploymentBaseDelay: number;
  nodeDeploymentMaxDelay: number;
  enableDistributedSnapshotting: boolean;
}

/** What has to fit to them. */
interface Beside {
  engine?: true;
  controllers?: ControllerName[];
  leaderElection: boolean;
  nodeName?: string;
}

/** Adds them to a command. */
export function withNodeDeploymentFlags(command: Command): Command {
  const delay = (name: string, what: string, fallback: [number, string]): Option =>
    new Option(`--${name} <time>`, what).argParser(duration).default(...fallback);
  return command
    .addOption(
      switched(
        "node-deployment",
        "every node has the driver and this process: work for --node-name only",
        false,
      ),
    )
    .addOption(
      switched(
        "node-deployment-immediate-binding",
        "nodes take claims that no scheduler chooses a node for",
        true,
      ),
    )
    .addOption(
      delay("node-deployment-base-delay", "a node waits up to so long before it takes one", [20_000, "20s"]),
    )
    .addOption(delay("node-deployment-max-delay", "the same after attempts that failed", [60_000, "60s"]))
    .addOption(
      switched(
        "enable-distributed-snapshotting",
        "write the node of the volume on contents of snapshots",
        false,
      ),
    );
}

/** The controllers' options. Throws for what goes against them. */
export function nodeDeploymentSettings(
  flags: NodeDeploymentFlags,
  beside: Beside,
): Pick<ControllerOptions, "nodeDeployment" | "distributedSnapshots"> {
  const { enableDistributedSnapshotting: distributedSnapshots } = flags;
  if (!flags.nodeDeployment) return { distributedSnapshots };
  refuse(flags, beside);
  return {
    distributedSnapshots,
    nodeDeployment: {
      immediateBinding: flags.nodeDeploymentImmediateBinding,
      baseDelayMs: flags.nodeDeploymentBaseDelay,
      maxDelayMs: flags.nodeDeploymentMaxDelay,
    },
  };
}

function refuse(
  flags: NodeDeploymentFlags,
  { engine, controllers = [], leaderElection, nodeName }: Beside,
): void {
  if (engine === true)
    throw new CommandError("--node-deployment is for drivers that know the volumes of their own node only", {
      next: "leave it away: Mooring's own volumes have one control plane and an agent on every node",
    });
  if (nodeName === undefined)
    throw new CommandError("--node-deployment works for one node, and none is named", {
      next: "give --node-name, or NODE_NAME from the pod's spec.nodeName",
    });
  if (leaderElection)
    throw new CommandError("with --node-deployment all nodes work, and --leader-election would leave one", {
      next: "leave --leader-election away: who does what is to be done once is agreed upon without it",
    });
  const elsewhere = controllers.filter((name) => CONTROLLERS[name].clusterWide === "elsewhere");
  if (elsewhere.length > 0)
    throw new CommandError(`${elsewhere.join(", ")} asks one driver for volumes of many nodes`, {
      next: "leave it out of --controllers, or run one `mooring controller` for all nodes",
    });
  const { nodeDeploymentBaseDelay: base, nodeDeploymentMaxDelay: most } = flags;
  if (most < base)
    throw new CommandError("--node-deployment-max-delay is shorter than --node-deployment-base-delay", {
      next: "give it at least the same time",
    });
}
