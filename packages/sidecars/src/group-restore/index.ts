import {
  keyOf,
  listAll,
  type PersistentVolumeClaim,
  runController,
  type VolumeGroupSnapshot,
  type VolumeSnapshot,
  VolumeSnapshots,
} from "@mooring/store";
import { Backoff } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import { groupOf } from "../common/group-of.ts";
import { source } from "../common/source.ts";
import { runSteps } from "../common/steps.ts";
import { rfc3339 } from "../common/time.ts";
import { RESTORE_LABEL, type VolumeGroupRestore } from "../kube/group-restore.ts";
import { applyGroupRestore, Refusals } from "./apply.ts";
import { claimNameFor } from "./claim-names.ts";
import { decideGroupRestore } from "./decide.ts";
import { preflight } from "./preflight.ts";
import { Troubles } from "./troubles.ts";
import type { GroupRestoreView, MemberView } from "./view.ts";

const keysOf = (restores: VolumeGroupRestore[]): string[] => restores.map(keyOf);

/** Makes the claims of VolumeGroupRestores whose group snapshot is of the driver. */
export function runGroupRestore(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const { cluster, concurrency, logger } = context;
  const restorer = new GroupRestorer(context);
  const restores = cluster.groupRestores;
  const ofGroup = (group: string) => keysOf(restores.byIndex("group", group));
  return runController(
    {
      name: "group-restore",
      logger,
      concurrency,
      sources: [
        source(restores, (restore) => [keyOf(restore)]),
        source(cluster.groups, (snapshot) => ofGroup(keyOf(snapshot))),
        source(cluster.groupContents, ({ spec }) =>
          ofGroup(keyOf({ metadata: spec.volumeGroupSnapshotRef })),
        ),
        source(cluster.snapshots, (snapshot) => groupOf(snapshot).flatMap(ofGroup)),
        source(cluster.contents, ({ spec }) => {
          const snapshot = cluster.snapshots.get(keyOf({ metadata: spec.volumeSnapshotRef }));
          return snapshot === undefined ? [] : groupOf(snapshot).flatMap(ofGroup);
        }),
        source(cluster.claims, (claim) => keysOf(concerned(context, claim))),
        source(cluster.classes, () => keysOf(restores.list())),
      ],
      reconcile: (key) => restorer.reconcile(key, signal),
    },
    signal,
  );
}

/** The restore that made a claim, and those that are held up because the claim has the name of one of theirs. */
function concerned(
  { cluster: { groupRestores } }: SidecarContext,
  { metadata }: PersistentVolumeClaim,
): VolumeGroupRestore[] {
  const maker = groupRestores.get(
    keyOf({ metadata: { ...metadata, name: metadata.labels?.[RESTORE_LABEL] ?? "" } }),
  );
  const heldUp = groupRestores.byIndex("failedIn", metadata.namespace ?? "");
  return maker === undefined ? heldUp : [maker, ...heldUp];
}

/** The watches of several kinds are not in step: before something is called missing, the server has to say so. */
function isFailing(view: GroupRestoreView): boolean {
  const { restore } = view;
  if (restore === undefined || restore.status?.members !== undefined) return false;
  return preflight(view, restore).kind === "fail";
}

/** Claims that a restore waits for; one that is over waits for none. */
function claimsMade(
  { status }: VolumeGroupRestore,
  claims: ReadonlyMap<string, PersistentVolumeClaim>,
): PersistentVolumeClaim[] {
  if (status?.phase === "Ready") return [];
  return status?.members?.flatMap(({ claimName }) => claims.get(claimName) ?? []) ?? [];
}

class GroupRestorer {
  readonly #context: SidecarContext;
  readonly #refusals: Refusals;
  readonly #troubles: Troubles;

  constructor(context: SidecarContext) {
    this.#context = context;
    this.#refusals = new Refusals(new Backoff({ ...context.retry, now: context.now }));
    this.#troubles = new Troubles(context.store, context.now);
  }

  async reconcile(key: string, signal: AbortSignal) {
    const { cluster } = this.#context;
    let uid = "";
    const look = async (fresh: boolean): Promise<GroupRestoreView> => {
      const restore = fresh ? await cluster.groupRestores.refresh(key) : cluster.groupRestores.get(key);
      uid = restore?.metadata.uid ?? uid;
      const view = await this.#view(restore, uid, fresh);
      return fresh || !isFailing(view) ? view : this.#view(restore, uid, true);
    };
    const apply = async (step: Parameters<typeof applyGroupRestore>[3], { restore }: GroupRestoreView) => {
      if (restore !== undefined) await applyGroupRestore(this.#context, this.#refusals, restore, step);
    };
    const result = await runSteps({ look, decide: decideGroupRestore, apply }, signal);
    if (cluster.groupRestores.get(key)?.metadata.uid !== uid) {
      this.#refusals.forget(uid);
      this.#troubles.forget(uid);
    }
    return result;
  }

  async #view(
    restore: VolumeGroupRestore | undefined,
    uid: string,
    fresh: boolean,
  ): Promise<GroupRestoreView> {
    const { cluster, driver, now } = this.#context;
    const base = {
      driver: driver.info.name,
      now: rfc3339(now()),
      ...this.#refusals.of(uid),
      classes: cluster.classes.list(),
    };
    if (restore === undefined)
      return {
        ...base,
        restore,
        groupSnapshot: undefined,
        content: undefined,
        members: [],
        claims: new Map(),
        troubles: new Map(),
      };
    const group = keyOf({
      metadata: { ...restore.metadata, name: restore.spec.source.volumeGroupSnapshotName },
    });
    const groupSnapshot = fresh ? await cluster.groups.refresh(group) : cluster.groups.get(group);
    if (fresh) await this.#refreshSnapshots(restore);
    const members = this.#members(restore, group);
    const claims = await this.#claims(restore, members, fresh);
    return {
      ...base,
      restore,
      groupSnapshot,
      content: await this.#content(groupSnapshot, fresh),
      members,
      claims,
      troubles: await this.#troubles.of(uid, claimsMade(restore, claims)),
    };
  }

  async #content(groupSnapshot: VolumeGroupSnapshot | undefined, fresh: boolean) {
    const name = groupSnapshot?.status?.boundVolumeGroupSnapshotContentName;
    const { groupContents } = this.#context.cluster;
    if (name === undefined) return undefined;
    return fresh ? groupContents.refresh(name) : groupContents.get(name);
  }

  async #refreshSnapshots({ metadata: { namespace = "" } }: VolumeGroupRestore): Promise<void> {
    const { cluster, store } = this.#context;
    const { items } = await listAll(store, VolumeSnapshots, { namespace });
    for (const snapshot of items) cluster.snapshots.wrote(snapshot);
    for (const { status } of items) {
      const content = status?.boundVolumeSnapshotContentName;
      if (content !== undefined && cluster.contents.get(content) === undefined)
        await cluster.contents.refresh(content);
    }
  }

  /** The members of the group snapshot as it is, and those that the plan was made of. */
  #members(restore: VolumeGroupRestore, group: string): MemberView[] {
    const { snapshots, contents } = this.#context.cluster;
    const planned = (restore.status?.members ?? []).flatMap(({ snapshotUID }) =>
      snapshots.byIndex("uid", snapshotUID),
    );
    const all = new Map<string, VolumeSnapshot>();
    for (const snapshot of [...snapshots.byIndex("memberOf", group), ...planned])
      all.set(keyOf(snapshot), snapshot);
    return [...all.values()].map((snapshot) => ({
      snapshot,
      content: contents.get(snapshot.status?.boundVolumeSnapshotContentName ?? ""),
    }));
  }

  /** Source claims and claims with the names of restored ones: what a plan is made from, and what has become of it. */
  async #claims(
    restore: VolumeGroupRestore,
    members: readonly MemberView[],
    fresh: boolean,
  ): Promise<Map<string, PersistentVolumeClaim>> {
    const { claims } = this.#context.cluster;
    const names = new Set(restore.status?.members?.map(({ claimName }) => claimName));
    if (restore.status?.members === undefined) {
      for (const { snapshot } of members) {
        const source = snapshot.spec.source.persistentVolumeClaimName ?? snapshot.metadata.name;
        const overrides = restore.spec.members?.find(({ claim }) => claim === source);
        names.add(source).add(claimNameFor(restore, source, overrides));
      }
    }
    const found = new Map<string, PersistentVolumeClaim>();
    for (const name of names) {
      const key = keyOf({ metadata: { ...restore.metadata, name } });
      const claim = fresh ? await claims.refresh(key) : claims.get(key);
      if (claim !== undefined) found.set(name, claim);
    }
    return found;
  }
}
