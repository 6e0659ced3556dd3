import { type Condition, mutate } from "@mooring/store";
import { type Pool, writersHeldMessage, writesFailMessage } from "../../api/pool.ts";
import { isThickVolume, type Volume, Volumes } from "../../api/volume.ts";
import type { AgentContext } from "../context.ts";
import { condition } from "./conditions.ts";

/** What of its pool hits the programs that write into a volume: `WritersHeld` of its pool, `WritesFail`. */
interface WritersState {
  suspended: boolean;
  fail: boolean;
}

/** What a volume reports about its writers. */
interface WritersReport {
  name: string;
  /** Undefined where it has no status yet. */
  reported: WritersState | undefined;
  /** Its writes take room of the pool: it is attached, and thin. */
  takesRoom: boolean;
}

/** Of a volume only this counts for its pool. One without the conditions reports by that that its writers go on. */
export function writersReport(volume: Volume): WritersReport {
  const { metadata, status } = volume;
  const isTrue = (wanted: string): boolean =>
    status?.conditions?.some(({ type, status: state }) => type === wanted && state === "True") === true;
  return {
    name: metadata.name,
    reported: status && { suspended: isTrue("WritersHeld"), fail: isTrue("WritesFail") },
    takesRoom: status?.state === "attached" && !isThickVolume(volume),
  };
}

/** What is true of the writers in a pool. */
export function writersState(pool: Pool): WritersState {
  return { suspended: writersHeldMessage(pool) !== undefined, fail: writesFailMessage(pool) !== undefined };
}

/** Names of volumes that report something else about their writers than is true. */
export function unreportedVolumes(
  volumes: readonly WritersReport[],
  { suspended, fail }: WritersState,
): string[] {
  return volumes
    .filter(({ reported, takesRoom }) => {
      if (reported === undefined) return false;
      return reported.suspended !== suspended || (reported.fail !== fail && (takesRoom || reported.fail));
    })
    .map(({ name }) => name);
}

/** Writes into each volume how its writers are; an event comes once per change. */
export async function reportToVolumes(
  { store, host, events, signal }: AgentContext,
  pool: Pool,
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    const news: Condition[] = [];
    const put = (volume: Volume): Volume => {
      news.length = 0;
      if (volume.status === undefined) return volume;
      const { takesRoom, reported } = writersReport(volume);
      for (const type of ["WritersHeld", ...(takesRoom || reported?.fail === true ? ["WritesFail"] : [])]) {
        const state = pool.status?.conditions?.find((each) => each.type === type);
        const old = volume.status.conditions?.find((each) => each.type === type);
        if (state === undefined || (old?.status ?? "False") === state.status) continue;
        news.push(condition(volume.status, type, since(state, old), host.clock.now()));
      }
      const others = (volume.status.conditions ?? []).filter(({ type }) =>
        news.every((each) => each.type !== type),
      );
      return { ...volume, status: { ...volume.status, conditions: [...others, ...news] } };
    };
    const volume = await mutate(store, Volumes, { name }, { change: put, subresource: "status", signal });
    for (const { type, status, message } of news)
      if (status === "True") events.event(volume, "Warning", type, message);
      else if (type === "WritesFail") events.event(volume, "Warning", "WritesHaveFailed", message);
      else events.event(volume, "Normal", "WritersGoOn", "there is room in the pool again");
  }
}

/** That writes have failed stays to be read: no other object records what was lost. */
function since(state: Condition, old: Condition | undefined): Condition {
  if (state.type !== "WritesFail" || state.status === "True") return state;
  const message = `there is room in the pool again; from ${old?.lastTransitionTime} on writes failed: what was written then without fsync may be lost`;
  return { ...state, message };
}
