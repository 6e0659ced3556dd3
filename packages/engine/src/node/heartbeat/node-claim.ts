import { createHash } from "node:crypto";
import { mkdir, readFile, realpath, stat } from "node:fs/promises";
import { getIfAny, type Logger, type ObjectStore } from "@mooring/store";
import { type NodeAgent, NodeAgents } from "../../api/node-agent.ts";
import { EngineError } from "../../errors.ts";
import type { Clock } from "../../host/host.ts";

/** Three beats: an agent that has missed them all is dead, or cannot reach the store. */
const SILENCE_MS = 30_000;
const POLL_MS = 1000;

/** Another agent, of another state folder or machine, reports for this node. */
export class NodeInUse extends EngineError {
  constructor(nodeID: string) {
    super("FAILED_PRECONDITION", `another agent runs for node "${nodeID}" on this API server`, {
      hint: "stop it, or give this one another node name; two machines never share one",
    });
  }
}

interface ClaimOptions {
  store: ObjectStore;
  nodeID: string;
  stateDir: string;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
}

/** An agent's right to report for its node. */
export class NodeClaim {
  /** `NodeAgent.status.holder`: the same for all agents of one state folder, of which one runs at a time. */
  readonly holder: string;
  readonly #nodeID: string;
  /** The last heartbeat of another agent that has fallen silent. */
  readonly #silent: string | undefined;

  constructor(nodeID: string, holder: string, silent?: string) {
    this.#nodeID = nodeID;
    this.holder = holder;
    this.#silent = silent;
  }

  /** Throws NodeInUse when the status is that of another agent which is alive. */
  check(status: NodeAgent["status"]): void {
    if (isFree(status, this.holder) || status?.heartbeat === this.#silent) return;
    throw new NodeInUse(this.#nodeID);
  }
}

const isFree = (status: NodeAgent["status"], holder: string): boolean =>
  status?.holder === undefined || status.holder === holder;

/**
 * Makes sure that no other agent runs for this node. One that was killed, or lost its machine, is watched until it has
 * missed three beats by our own clock; a later agent of its own state folder need not wait. Throws NodeInUse when the
 * other one beats meanwhile.
 */
export async function claimNode(options: ClaimOptions): Promise<NodeClaim> {
  const { store, nodeID, stateDir, clock, logger, signal } = options;
  const holder = await holderIdOf(stateDir);
  const read = async () => {
    const status = await statusOf(store, nodeID, signal);
    return isFree(status, holder) ? undefined : { beat: status?.heartbeat };
  };
  const first = await read();
  if (first === undefined) return new NodeClaim(nodeID, holder);
  logger.info({ node: nodeID }, "another agent reported for this node: waiting to see whether it still does");
  for (const until = clock.sinceBoot() + SILENCE_MS; clock.sinceBoot() < until; ) {
    await clock.sleep(POLL_MS, signal);
    const now = await read();
    if (now === undefined) return new NodeClaim(nodeID, holder);
    if (now.beat !== first.beat) throw new NodeInUse(nodeID);
  }
  return new NodeClaim(nodeID, holder, first.beat);
}

async function statusOf(store: ObjectStore, name: string, signal: AbortSignal): Promise<NodeAgent["status"]> {
  return (await getIfAny(store, NodeAgents, { name }, signal))?.status;
}

/** A machine's folder, also after the machine has started anew: its path, its number, and the machine's own id. */
async function holderIdOf(stateDir: string): Promise<string> {
  await mkdir(stateDir, { recursive: true });
  const path = await realpath(stateDir);
  const { ino } = await stat(path, { bigint: true });
  const hash = createHash("sha256").update(`${await machineID()}\0${path}\0${ino}`);
  return hash.digest("hex").slice(0, 16);
}

/** Containers often have none: then this start of the machine has to do. */
async function machineID(): Promise<string> {
  const own = await readFile("/etc/machine-id", "utf8").catch(() => "");
  return own.trim() || (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
}
