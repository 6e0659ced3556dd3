import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Code } from "@mooring/csi";
import {
  isAlreadyExists,
  isNotFound,
  type LabelSelector,
  labelRequirements,
  matchesLabels,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
} from "@mooring/store";
import { currentPart, nothingSleeps } from "@mooring/store/testing";
import { lockOf } from "../common/member-lock.ts";
import { MEMBER_FINALIZER } from "../common/volume-group-names.ts";
import { type VolumeGroup, VolumeGroupContents, VolumeGroups } from "../kube/volume-group.ts";
import { startSidecars } from "../start.ts";
import { DRIVER } from "../testing/objects.ts";
import { ChurnProgress } from "./testing/churn-progress.ts";
import { boundPair, volumeGroup } from "./testing/objects.ts";
import { at, startWorld, type World } from "./testing/world.ts";

const SIZES = {
  everyday: { claims: 30, groups: 5, changes: 1_000 },
  rest: { claims: 100, groups: 12, changes: 3_000 },
  all: { claims: 200, groups: 20, changes: 6_000 },
  deep: { claims: 1_000, groups: 60, changes: 100_000 },
};
/** Changes between two moments at which everything has to be as it should. */
const LAP = 500;
/** Changes that are asked for at once; the operators work on the burst before meanwhile. */
const BURST = 50;
/** Milliseconds. A long run is made beside other work, and has the time that is left over. */
const DEADLINE_MS = currentPart() === "deep" ? 900_000 : 60_000;

/** Numbers that the same seed gives again. */
function dice(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const isBusy = (error: unknown) => isNotFound(error) || isAlreadyExists(error);
const forgive = (error: unknown): undefined => {
  if (!isBusy(error)) throw error;
};

/** Every third group selects two labels, so that claims are wanted twice. */
function selectorOf(group: number): LabelSelector {
  const values = group % 3 === 0 ? [`g${group}`, `g${group + 1}`] : [`g${group}`];
  return { matchExpressions: [{ key: "team", operator: "In", values }] };
}

class Churn {
  readonly #w: World;
  readonly #size: (typeof SIZES)["deep"];
  readonly #roll: (below: number) => number;
  readonly #under = new Map<string, Promise<void>>();
  readonly restarts: (() => Promise<void>)[];
  restarted = 0;
  faults = 0;

  constructor(w: World, size: (typeof SIZES)["deep"], seed: number, restarts: (() => Promise<void>)[]) {
    this.#w = w;
    this.#size = size;
    this.#roll = dice(seed);
    this.restarts = restarts;
  }

  async makeClaim(number: number, team = this.#team()): Promise<void> {
    const { store } = this.#w;
    const { claim, volume } = boundPair(`c${number}`, { team });
    const { uid: _uid, ...metadata } = claim.metadata;
    const made: PersistentVolumeClaim | undefined = await store
      .create<PersistentVolumeClaim>(PersistentVolumeClaims, { ...claim, metadata })
      .catch(forgive);
    if (made === undefined) return;
    // The volume of the claim that had the name before is of nobody.
    const name = volume.metadata.name;
    await store.delete(PersistentVolumes, { name }).catch(forgive);
    const claimRef = { ...volume.spec?.claimRef, uid: String(made.metadata.uid) };
    const csi = { driver: DRIVER, volumeHandle: `vol-${String(made.metadata.uid)}` };
    await store.create(PersistentVolumes, {
      ...volume,
      metadata: { name },
      spec: { ...volume.spec, claimRef, csi },
    });
  }

  async makeGroup(number: number): Promise<void> {
    const { uid: _uid, ...metadata } = volumeGroup(`g${number}`).metadata;
    const spec = { source: { selector: selectorOf(number) } };
    await this.#w.store.create(VolumeGroups, { ...volumeGroup(`g${number}`, spec), metadata }).catch(forgive);
  }

  #team(): string {
    return `g${this.#roll(this.#size.groups + 2)}`;
  }

  async burst(): Promise<void> {
    await Promise.all(Array.from({ length: BURST }, () => this.#change()));
  }

  #change(): Promise<void> {
    const kind = this.#roll(1_000);
    const claim = this.#roll(this.#size.claims);
    const group = this.#roll(this.#size.groups);
    if (kind < 960) return this.#inTurn(`c${claim}`, this.#changeOfClaim(kind, claim));
    if (kind < 985) return this.#inTurn(`g${group}`, this.#changeOfGroup(kind, group));
    if (kind < 996) return this.#fault();
    const restart = this.restarts[this.#roll(this.restarts.length)];
    return this.#inTurn("restart", async () => {
      await restart?.();
      this.restarted += 1;
    });
  }

  #changeOfClaim(kind: number, number: number): () => Promise<void> {
    const name = `c${number}`;
    const team = this.#team();
    if (kind < 800) return () => this.#w.label(name, { team }).catch(forgive);
    if (kind < 880) return () => this.#remove(PersistentVolumeClaims, name);
    return () => this.makeClaim(number, team);
  }

  #changeOfGroup(kind: number, number: number): () => Promise<void> {
    return kind < 970 ? () => this.#remove(VolumeGroups, `g${number}`) : () => this.makeGroup(number);
  }

  /** Changes of one object come in their order: a claim that is made takes two of them. */
  #inTurn(what: string, change: () => Promise<void>): Promise<void> {
    const done = (this.#under.get(what) ?? Promise.resolve()).then(change);
    this.#under.set(what, done);
    return done;
  }

  async #remove(kind: Resource, name: string): Promise<void> {
    await this.#w.store.delete(kind, at(name)).catch(forgive);
  }

  async #fault(): Promise<void> {
    const codes = [Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.INTERNAL, Code.ABORTED];
    const methods = [
      "ModifyVolumeGroupMembership",
      "CreateVolumeGroup",
      "DeleteVolumeGroup",
      "ControllerGetVolumeGroup",
    ];
    this.faults += 1;
    this.#w.driver.faults.add({
      method: methods[this.#roll(methods.length)] ?? "",
      code: codes[this.#roll(codes.length)] ?? 13,
      effect: this.#roll(2) === 0,
    });
  }

  /** Members are those that a group asks for and has won; every claim that is asked for is in just one group. */
  async check(): Promise<string[]> {
    const { driver, store } = this.#w;
    const [claims, groups] = await Promise.all([
      store.list(PersistentVolumeClaims),
      store.list(VolumeGroups),
    ]);
    const wrong: string[] = [];
    const want = ({ spec }: VolumeGroup, { metadata }: PersistentVolumeClaim) =>
      matchesLabels(labelRequirements(spec.source.selector ?? {}), metadata.labels);
    const living = groups.items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (living.length < groups.items.length) wrong.push("a group is still going");
    const seen = new Set<string>();
    for (const group of living) {
      const stored = driver.volumeGroups.groups;
      const name = `volumegroup-${group.metadata.uid}`;
      const members = [...stored.values()].find((each) => each.name === name)?.members;
      if (members === undefined) wrong.push(`${group.metadata.name} is not there`);
      const held = claims.items.filter((claim) => lockOf(claim)?.uid === group.metadata.uid);
      for (const claim of held) if (!want(group, claim)) wrong.push(`${claim.metadata.name} does not belong`);
      const handles = held.map((claim) => lockOf(claim)?.handle ?? "").sort();
      if (handles.join() !== [...(members ?? [])].sort().join())
        wrong.push(`${group.metadata.name}: ${handles} held, ${[...(members ?? [])].sort()} stored`);
      for (const handle of handles) {
        if (seen.has(handle)) wrong.push(`${handle} is in two groups`);
        seen.add(handle);
      }
      const synced = group.status?.conditions?.find(({ type }) => type === "MembersSynced");
      if (synced?.status !== "True") wrong.push(`${group.metadata.name}: ${synced?.message}`);
    }
    for (const claim of claims.items) {
      const { deletionTimestamp, finalizers = [], name } = claim.metadata;
      if (deletionTimestamp !== undefined) wrong.push(`${name} is still going`);
      const wanted = living.some((group) => want(group, claim));
      if (wanted !== (lockOf(claim) !== undefined)) wrong.push(`${name}: wanted ${wanted}, held ${!wanted}`);
      if (finalizers.includes(MEMBER_FINALIZER) !== (lockOf(claim) !== undefined))
        wrong.push(`${name}: half held`);
    }
    return wrong;
  }

  async end(): Promise<void> {
    const { driver, store, until } = this.#w;
    for (const kind of [VolumeGroups, PersistentVolumeClaims] as readonly Resource[])
      for (const { metadata } of (await store.list(kind)).items) await this.#remove(kind, metadata.name);
    const left = async () => {
      const lists = await Promise.all([
        store.list(VolumeGroups),
        store.list(VolumeGroupContents),
        store.list(PersistentVolumeClaims),
      ]);
      return [
        ...lists.flatMap(({ items }) => items.map(({ kind, metadata }) => `${kind} ${metadata.name}`)),
        ...[...driver.volumeGroups.groups.keys()],
      ];
    };
    await until("nothing is left", async () => (await left()).length === 0, left, DEADLINE_MS);
    assert.deepEqual([...driver.volumeGroups.deletedVolumes], [], "no volume was deleted");
  }
}

/** Another operator beside the first, as when a lease is lost and not yet noticed. */
async function startSecond(t: TestContext, w: World): Promise<() => Promise<void>> {
  let stop = new AbortController();
  const begin = () =>
    startSidecars({
      store: w.store,
      endpoint: w.driver.endpoint,
      controllers: ["volume-group"],
      retry: { startMs: 5, maxMs: 40, infeasibleMs: 60 },
      volumeGroup: { driftMs: 2_000 },
      signal: stop.signal,
    });
  let running = await begin();
  const end = async () => {
    stop.abort();
    await running.done;
  };
  t.after(end);
  return async () => {
    await end();
    stop = new AbortController();
    running = await begin();
  };
}

test("two operators, claims and groups that come, change and go, faults and restarts: the members are always right in the end", async (t) => {
  const w = await startWorld(t, { sidecars: { volumeGroup: { driftMs: 2_000 } } });
  const size = SIZES[currentPart()];
  const seed = Number(process.env["MOORING_SEED"] ?? 787_123);
  t.diagnostic(`MOORING_SEED=${seed}`);
  const restartSecond = await startSecond(t, w);
  const churn = new Churn(w, size, seed, [() => w.restart(), restartSecond]);
  for (let group = 0; group < size.groups; group += 1) await churn.makeGroup(group);
  for (let number = 0; number < size.claims; number += BURST) {
    const numbers = Array.from(
      { length: Math.min(BURST, size.claims - number) },
      (_, index) => number + index,
    );
    await Promise.all(numbers.map((each) => churn.makeClaim(each)));
  }
  const progress = new ChurnProgress(w.driver);
  for (let done = 0; done < size.changes; done += LAP) {
    for (let index = 0; index < LAP; index += BURST) {
      await churn.burst();
      progress.read();
    }
    w.driver.faults.clear();
    await w.until(
      `all is well (seed ${seed})`,
      async () => (await churn.check()).length === 0,
      () => churn.check(),
      DEADLINE_MS,
    );
    await nothingSleeps();
    progress.note(done + LAP);
  }
  const modified = progress.calls("ModifyVolumeGroupMembership");
  const bound = 4 * (size.changes + size.claims) + 10 * churn.faults + 4 * churn.restarted * size.groups;
  t.diagnostic(`${size.changes} changes, ${churn.restarted} restarts, ${modified} calls to modify`);
  assert.ok(modified <= bound, `${modified} calls, at most ${bound}`);
  await churn.end();
  assert.ok((await w.store.list(PersistentVolumes)).items.length > 0);
});
