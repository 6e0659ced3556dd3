import { performance } from "node:perf_hooks";
import { defined, failpoint } from "@mooring/store";
import type { GroupMember } from "../../api/group-snapshot.ts";
import { EngineError } from "../../errors.ts";
import { FreezeError, type Freezer } from "../../host/freezer/freezer.ts";
import type { Copy, GroupCopy, PreCopies } from "../../pools/group-copy.ts";
import { settled } from "../../pools/reflink-copier.ts";
import type { AgentContext } from "../context.ts";
import { copyKey, type LockedCopies } from "../copy/copies.ts";
import { flushUses } from "../copy/flush-uses.ts";
import type { OpenPool } from "../open-pools.ts";
import { requireVolumeHere } from "../require-volume-here.ts";
import type { BarrierReport, BarrierSteps } from "./barrier-steps.ts";
import type { MemberUse, Quiesce } from "./choose-quiesce.ts";
import { type LocatedMember, locate, readUses, requireLeases } from "./read-uses.ts";
import { steadyUses } from "./steady-uses.ts";

/** Of what is one step where no other node takes part, and of what a failure undoes. */
const quiesced = failpoint("engine/group-snapshot/quiesced");
const copied = failpoint("engine/group-snapshot/copied");
const released = failpoint("engine/group-snapshot/released");
const abandoned = failpoint("engine/group-snapshot/abandoned");

interface BarrierRequest {
  /** Members on this node. */
  members: readonly GroupMember[];
  /** No other node takes part. */
  alone: boolean;
  deadlineSeconds: number;
}

/**
 * One node's part of a barrier: `prepare`, `quiesce`, `copy`, `release`, `finish`, in this order, each once; `abandon`
 * at any time instead of the next. Everything that may take long is in `prepare` and `finish`, outside of the freeze.
 */
export class Barrier implements BarrierSteps {
  readonly #context: AgentContext;
  readonly #request: BarrierRequest;
  #members: LocatedMember[] = [];
  #uses: MemberUse[] = [];
  #quiesces: Quiesce[] = [];
  #locked: LockedCopies | undefined;
  readonly #preCopies = new Map<string, PreCopies>();
  #copies: GroupCopy[] = [];
  #freezer: Freezer | undefined;
  #startTime = "";
  #endTime = "";
  #started = 0;
  #frozenMs = 0;
  #covered = false;

  constructor(context: AgentContext, request: BarrierRequest) {
    this.#context = context;
    this.#request = request;
  }

  /** Finds out whether all writers can be kept still, copies what takes long and writes out what is dirty. Locks and freezes nothing. Throws what stands in the way. */
  async prepare(): Promise<void> {
    const members = await locate(this.#context, this.#request.members);
    const { uses, quiesces } = await this.#steady(members);
    for (const [open, copies] of copiesByPool(members, uses, quiesces)) {
      const still = copies.filter((copy) => copy.still);
      this.#preCopies.set(open.name, await open.backend.preCopy(still, this.#context.signal));
    }
    await flushUses(this.#context, uses);
  }

  /** From here on no writer of a member writes, until `release` or the deadline. Throws, naming the members, when one goes on. */
  async quiesce(): Promise<void> {
    const { copies, freezes, host } = this.#context;
    const { members, deadlineSeconds } = this.#request;
    this.#locked = await copies.lock(members.map(({ pool, volume }) => copyKey(pool, volume)));
    // Checked once no other controller can be detaching them.
    await Promise.all(members.map(({ volume }) => requireVolumeHere(this.#context, volume)));
    this.#members = await locate(this.#context, members, "ABORTED");
    const { uses, quiesces } = await this.#steady(this.#members);
    this.#uses = uses;
    this.#quiesces = quiesces;
    // An attempt that was killed may have made some of them; none has ever been reported.
    await settled(this.#members.map(({ open, snapshot }) => open.backend.remove(snapshot)));
    await this.#begin();
    const targets = this.#quiesces.flatMap((quiesce) => quiesce.targets);
    const distinct = new Map(targets.map((target) => [`${target.kind} ${target.path}`, target]));
    this.#freezer = await freezes.arm([...distinct.values()], deadlineSeconds);
    this.#startTime = host.clock.now().toISOString();
    this.#started = performance.now();
    await this.#freezer.freeze().catch((error: unknown) => {
      throw error instanceof FreezeError ? this.#named(error) : error;
    });
    quiesced();
  }

  #steady(members: readonly LocatedMember[]): ReturnType<typeof steadyUses> {
    const read = () => readUses(this.#context, members);
    return steadyUses(read, this.#request.alone, this.#context.host.clock);
  }

  async #begin(): Promise<void> {
    for (const [open, copies] of copiesByPool(this.#members, this.#uses, this.#quiesces)) {
      const preCopies = this.#preCopies.get(open.name);
      this.#copies.push(await open.backend.beginCopy(copies, preCopies));
      await preCopies?.drop();
    }
  }

  async copy(): Promise<void> {
    await settled(this.#copies.map((each) => each.copy()));
    requireLeases(this.#context, this.#members, "ABORTED");
    copied();
  }

  /** All writers go on. The report has whether they had all been still until now. */
  async release(): Promise<void> {
    this.#covered = (await this.#freezer?.thaw()) ?? false;
    this.#frozenMs = performance.now() - this.#started;
    this.#endTime = this.#context.host.clock.now().toISOString();
    released();
  }

  /** Makes images of what was copied, on disk when this resolves. */
  async finish(): Promise<BarrierReport> {
    if (!this.#covered) throw this.late();
    // One of the volumes has to leave the node: it leaves when this is over.
    this.#locked?.signal.throwIfAborted();
    await this.#requireSameUses();
    await settled(this.#copies.map((each) => each.finish(this.#locked?.signal)));
    this.#locked?.release();
    for (const { name } of new Set(this.#members.map(({ open }) => open))) this.#context.pools.touched(name);
    return {
      methods: Object.fromEntries(this.#quiesces.map(({ volume, method }) => [volume, method])),
      startTime: this.#startTime,
      endTime: this.#endTime,
      pauseMilliseconds: Math.round(this.#frozenMs * 1000) / 1000,
      heldThroughCut: this.#covered,
    };
  }

  /** Lets all writers go on and removes what was made. */
  async abandon(): Promise<void> {
    try {
      const thaw = this.#freezer?.thaw();
      // What was made goes also where a writer may still be frozen: no controller comes here again for it.
      await Promise.allSettled([thaw]);
      const dropped = [...this.#preCopies.values()].map((copies) => copies.drop());
      await settled([thaw, ...dropped, ...this.#copies.map((each) => each.abandon())]);
      abandoned();
    } finally {
      this.#locked?.release();
    }
  }

  /** A member may have been taken into use meanwhile, or got a user that the barrier has not stopped. */
  async #requireSameUses(): Promise<void> {
    const pools = new Set(this.#members.map(({ open }) => open.name));
    const oneMoment = pools.size === 1 && this.#copies.every(({ atomicity }) => atomicity === "one-moment");
    if (this.#request.alone && oneMoment) return;
    const now = await readUses(this.#context, this.#members);
    const joined = this.#uses.find((before, index) => hasNewUser(before.use, now[index]?.use ?? before.use));
    if (joined === undefined) return;
    throw new EngineError("ABORTED", `volume ${joined.volume} was taken into use during the copy`);
  }

  /** The failure of a copy that took longer than writers may wait. */
  late(): EngineError {
    const { deadlineSeconds, members } = this.#request;
    const names = members.map(({ volume }) => volume).join(", ");
    const message = `the copy of ${names} was not done within ${deadlineSeconds} s`;
    const frozen = this.#quiesces.some(({ targets }) => targets.length > 0);
    if (!frozen) {
      const hint = "raise the deadline, or snapshot when the pool has less to do";
      return new EngineError("FAILED_PRECONDITION", message, { hint });
    }
    return new EngineError("FAILED_PRECONDITION", `${message}, after which writes went on`, {
      hint: "raise the deadline, use volumes of a btrfs pool, or snapshot fewer of them at once",
    });
  }

  #named({ targets, message, hint }: FreezeError): EngineError {
    const paths = new Set(targets.map(({ path }) => path));
    const volumes = this.#quiesces.filter((quiesce) => quiesce.targets.some(({ path }) => paths.has(path)));
    const names = volumes.map(({ volume }) => volume).join(", ");
    const text = `volume ${names} could not be kept still: ${message}`;
    return new EngineError("FAILED_PRECONDITION", text, defined({ hint }));
  }
}

/** Who is kept still, or has no user, is not written to during the copy. */
function copiesByPool(
  members: readonly LocatedMember[],
  uses: readonly MemberUse[],
  quiesces: readonly Quiesce[],
): Map<OpenPool, Copy[]> {
  const all = new Map<OpenPool, Copy[]>();
  for (const [index, { open, volume, snapshot }] of members.entries()) {
    const still = uses[index]?.use.as === "unused" || (quiesces[index]?.targets.length ?? 0) > 0;
    all.set(open, [...(all.get(open) ?? []), { source: volume, id: snapshot, still }]);
  }
  return all;
}

function hasNewUser(before: MemberUse["use"], now: MemberUse["use"]): boolean {
  if (now.as === "unused") return false;
  if (before.as !== now.as) return true;
  return (
    now.as === "device" &&
    before.as === "device" &&
    now.cgroups.some((group) => !before.cgroups.includes(group))
  );
}
