import { Code } from "@mooring/csi";
import { defined, msLeft } from "@mooring/store";
import { Backoff, type BackoffOptions } from "../common/backoff.ts";
import { type CallFailure, isUncertain, provesNothingMade } from "../csi/codes.ts";
import { requestKeyOfSet } from "./request-key.ts";
import type { CallName, GroupResult, StorageView } from "./view.ts";

interface Known {
  certain: boolean;
  /** Milliseconds since the epoch of the last read; 0: never. */
  readAt: number;
  result?: GroupResult;
  gone: boolean;
  provenGone: boolean;
  limit: number;
  failures: Map<CallName, { requestKey: string; message: string; conclusive: boolean }>;
  /** `others`: only together with just these members is it refused for good. */
  refused: Map<string, { message: string; others?: string }>;
  /** Sets that the driver has called impossible, the newest last. */
  impossible: { volumeHandles: readonly string[]; message: string }[];
  /** A create call of this life, or of an earlier one, may have had an effect that the driver has not confirmed. */
  uncertain: boolean;
}

/** Refusals of what was asked for: no repetition of the same request will be taken. */
const REFUSALS: ReadonlySet<number> = new Set([
  Code.INVALID_ARGUMENT,
  Code.NOT_FOUND,
  Code.ALREADY_EXISTS,
  Code.RESOURCE_EXHAUSTED,
  Code.FAILED_PRECONDITION,
  Code.OUT_OF_RANGE,
]);
const THERE = { gone: false, provenGone: false };
/** More is forgotten: it would only be asked once more. */
const MOST_IMPOSSIBLE = 16;
/** A CreateVolumeGroup that is refused so is never sent again as it is ("CreateVolumeGroup Errors"). */
const FINAL: ReadonlySet<number> = new Set([Code.INVALID_ARGUMENT, Code.ALREADY_EXISTS]);

/** The volume that a set has over another one, and nothing else is different. */
function oneMore(set: readonly string[], other: readonly string[]): string | undefined {
  const [first, ...more] = set.filter((handle) => !other.includes(handle));
  return more.length === 0 && set.length === other.length + 1 ? first : undefined;
}

/** What the driver has returned in this life about each group, by the uid of its content. */
export class StorageMemory {
  readonly #known = new Map<string, Known>();
  readonly #backoff: Backoff;
  readonly #now: () => number;
  readonly #periodMs: number;

  /** `periodMs`: between two reads of a group. */
  constructor({ periodMs, ...backoff }: BackoffOptions & { periodMs: number }) {
    this.#backoff = new Backoff(backoff);
    this.#now = backoff.now;
    this.#periodMs = periodMs;
  }

  forget(uid: string): void {
    const known = this.#known.get(uid);
    for (const name of known?.failures.keys() ?? []) this.#backoff.reset(`${uid} ${name}`);
    for (const handle of known?.refused.keys() ?? []) this.#backoff.reset(`${uid}/${handle}`);
    this.#known.delete(uid);
  }

  /** `actual`: the volumes in the group, as far as is on record. */
  view(uid: string, actual: readonly string[]): StorageView {
    const known = this.#of(uid);
    const dueMs = msLeft({ since: known.readAt, forMs: this.#periodMs, now: this.#now() });
    const failures = [...known.failures].map(([name, { requestKey, ...rest }]) => {
      const backoffMs = this.#backoff.remaining(`${uid} ${name}`, requestKey);
      return [name, { requestKey, ...rest, backoffMs }] as const;
    });
    const together = requestKeyOfSet(actual);
    const refused = [...known.refused].flatMap(([handle, { message, others }]) => {
      const backoffMs =
        others === undefined
          ? this.#backoff.remaining(`${uid}/${handle}`, "")
          : others === together
            ? Number.POSITIVE_INFINITY
            : 0;
      return backoffMs > 0 ? [[handle, { message, backoffMs }] as const] : [];
    });
    const impossible = known.impossible.flatMap(({ message, volumeHandles }) => {
      const culprit = oneMore(volumeHandles, actual);
      return culprit === undefined
        ? []
        : [[culprit, { message, backoffMs: Number.POSITIVE_INFINITY }] as const];
    });
    return {
      certain: known.certain,
      due: dueMs === 0,
      dueMs,
      ...defined({ result: known.result }),
      gone: known.gone,
      provenGone: known.provenGone,
      failures: new Map(failures),
      limit: known.limit,
      refused: new Map([...refused, ...impossible]),
      impossible: new Set(known.impossible.map(({ volumeHandles }) => requestKeyOfSet(volumeHandles))),
    };
  }

  /** The mark on the content is of this life: no call was made before it. */
  marked(uid: string): void {
    this.#of(uid).uncertain = false;
  }

  created(uid: string, result: GroupResult): void {
    const known = this.#of(uid);
    // A response to a creation need not name the members.
    Object.assign(known, { result, ...THERE, certain: false, uncertain: false });
    this.#settle(uid, "create");
    this.#settle(uid, "get");
  }

  received(uid: string, result: GroupResult): void {
    Object.assign(this.#of(uid), { result, ...THERE, certain: true, readAt: this.#now() });
    this.#settle(uid, "get");
    // It is there, whichever process has made it: the driver may have heard another one where it did not hear this.
    this.#settle(uid, "create");
  }

  /** `wanted`: the set that was asked for. */
  modified(uid: string, result: GroupResult, wanted: readonly string[]): void {
    const known = this.#of(uid);
    Object.assign(known, {
      result,
      ...THERE,
      certain: true,
      readAt: this.#now(),
      limit: known.limit * 2,
    });
    this.#settle(uid, "create");
    for (const handle of wanted) this.#accept(uid, handle);
    this.#concludeFrom(uid, wanted);
    const requestKey = requestKeyOfSet(wanted);
    if (requestKeyOfSet(result.volumeHandles) === requestKey) {
      this.#settle(uid, "modify");
      return;
    }
    const given = result.volumeHandles.join(", ") || "none";
    this.#fail(uid, "modify", {
      requestKey,
      message: `the driver returned other members than it was asked for: ${given}`,
    });
  }

  /** The driver returns that the group does not exist. `proven`: it was asked about this one group. */
  vanished(uid: string, handle: string, { message, proven }: { message: string; proven: boolean }): void {
    Object.assign(this.#of(uid), { gone: true, provenGone: proven, certain: true });
    this.#fail(uid, "get", { requestKey: handle, message });
  }

  deleted(uid: string): void {
    Object.assign(this.#of(uid), { gone: true, provenGone: true, certain: true });
    for (const name of [...this.#of(uid).failures.keys()]) this.#settle(uid, name);
  }

  /** The response is on record, or it is unknown whether it is the newest. */
  settled(uid: string, outcome: "recorded" | "doubtful"): void {
    const known = this.#of(uid);
    delete known.result;
    if (outcome === "doubtful") known.certain = false;
  }

  createFailed(uid: string, failure: CallFailure): void {
    const known = this.#of(uid);
    const uncertain = isUncertain(failure);
    known.uncertain ||= uncertain;
    const conclusive = provesNothingMade(failure, uncertain, known.uncertain);
    const never = failure.code !== undefined && FINAL.has(failure.code);
    this.#fail(
      uid,
      "create",
      { requestKey: "", message: failure.message },
      {
        conclusive,
        atLeastMs: never ? Number.POSITIVE_INFINITY : 0,
      },
    );
  }

  failed(uid: string, call: "get" | "delete", requestKey: string, message: string): void {
    this.#fail(uid, call, { requestKey, message });
  }

  /** One volume that is refused must not keep the others out: fewer are asked for until it is found. */
  modifyFailed(
    uid: string,
    failure: CallFailure,
    { added, volumeHandles }: { added: readonly string[]; volumeHandles: readonly string[] },
  ): void {
    const known = this.#of(uid);
    const { code, message } = failure;
    const isRefusal = code !== undefined && REFUSALS.has(code);
    if (!isRefusal || code === Code.NOT_FOUND) known.certain = false;
    const [first, ...more] = added;
    if (code === Code.INVALID_ARGUMENT)
      known.impossible = [...known.impossible, { volumeHandles, message }].slice(-MOST_IMPOSSIBLE);
    if (!isRefusal || first === undefined) {
      this.#fail(uid, "modify", { requestKey: requestKeyOfSet(volumeHandles), message });
      return;
    }
    if (more.length > 0) {
      known.limit = Math.ceil(added.length / 2);
      return;
    }
    const others = volumeHandles.filter((handle) => handle !== first);
    this.refuse(uid, first, message, code === Code.INVALID_ARGUMENT ? requestKeyOfSet(others) : undefined);
  }

  /** A volume is not taken; `others`: never in the company of these. */
  refuse(uid: string, handle: string, message: string, others?: string): void {
    this.#of(uid).refused.set(handle, { message, ...defined({ others }) });
    this.#backoff.fail(`${uid}/${handle}`, "");
  }

  /** A set is possible that lacks one volume of an impossible one: it is that one, and the driver is not asked again. */
  #concludeFrom(uid: string, possible: readonly string[]): void {
    const known = this.#of(uid);
    for (const { message, volumeHandles } of known.impossible) {
      const culprit = oneMore(volumeHandles, possible);
      if (culprit !== undefined) this.refuse(uid, culprit, message, requestKeyOfSet(possible));
    }
  }

  #accept(uid: string, handle: string): void {
    this.#of(uid).refused.delete(handle);
    this.#backoff.reset(`${uid}/${handle}`);
  }

  #settle(uid: string, name: CallName): void {
    this.#of(uid).failures.delete(name);
    this.#backoff.reset(`${uid} ${name}`);
  }

  #fail(
    uid: string,
    name: CallName,
    { requestKey, message }: { requestKey: string; message: string },
    { atLeastMs = 0, conclusive = false }: { atLeastMs?: number; conclusive?: boolean } = {},
  ): void {
    this.#of(uid).failures.set(name, { requestKey, message, conclusive });
    this.#backoff.fail(`${uid} ${name}`, requestKey, atLeastMs);
  }

  #of(uid: string): Known {
    const known = this.#known.get(uid);
    if (known !== undefined) return known;
    const fresh: Known = {
      certain: false,
      readAt: 0,
      ...THERE,
      limit: Number.POSITIVE_INFINITY,
      failures: new Map(),
      refused: new Map(),
      impossible: [],
      uncertain: true,
    };
    this.#known.set(uid, fresh);
    return fresh;
  }
}
