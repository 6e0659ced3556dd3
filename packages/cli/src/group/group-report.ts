import {
  type GroupMember,
  SNAPSHOT_OF_GROUP,
  type VolumeGroup,
  VolumeGroupContents,
  VolumeGroups,
} from "@mooring/sidecars";
import { defined, isNotFound, type ObjectStore, VolumeGroupSnapshots } from "@mooring/store";
import { age, table } from "../output/table.ts";
import { read } from "../why/context.ts";

/** A volume group as operators ask for it. */
interface VolumeGroupReport {
  kind: "VolumeGroup";
  namespace: string;
  name: string;
  /** It is there and can be used. */
  ready: boolean;
  /** Just those are in it that should be. */
  synced: boolean;
  className?: string;
  content?: string;
  /** When it was asked for, RFC 3339. */
  askedAt?: string;
  /** Volumes that are in it. */
  memberCount: number;
  members: GroupMember[];
  conditions: { type: string; status: string; reason?: string; message?: string }[];
  /** How far the members have grown to the size of the group. */
  growth?: NonNullable<VolumeGroup["status"]>["growth"];
  /** Group snapshots that were asked for by its name. */
  snapshots: string[];
  /** What of it is not as it should be, as text. */
  message: string;
}

/** All volume groups of a namespace, or of all; none where the server does not have them. */
export async function listVolumeGroups(
  store: ObjectStore,
  namespace: string | undefined,
): Promise<VolumeGroupReport[]> {
  const where = defined({ namespace });
  const [groups, snapshots] = await Promise.all([
    store.list(VolumeGroups, where).catch((error: unknown) => {
      if (isNotFound(error)) return { items: [] };
      throw error;
    }),
    store.list(VolumeGroupSnapshots, where),
  ]);
  return groups.items.map((group) => {
    const mine = snapshots.items.filter(
      ({ metadata }) =>
        metadata.namespace === group.metadata.namespace &&
        metadata.annotations?.[SNAPSHOT_OF_GROUP] === group.metadata.name,
    );
    return reportOf(group, mine.map(({ metadata }) => metadata.name).sort());
  });
}

/** One volume group; throws NotFound. */
export async function showVolumeGroup(
  store: ObjectStore,
  namespace: string,
  name: string,
): Promise<VolumeGroupReport> {
  const group = await store.get(VolumeGroups, { namespace, name });
  const { items } = await store.list(VolumeGroupSnapshots, { namespace });
  const mine = items.filter(({ metadata }) => metadata.annotations?.[SNAPSHOT_OF_GROUP] === name);
  return reportOf(group, mine.map(({ metadata }) => metadata.name).sort());
}

function reportOf({ metadata, spec, status }: VolumeGroup, snapshots: string[]): VolumeGroupReport {
  const conditions = (status?.conditions ?? []).map(({ message, reason, status: is, type }) => ({
    ...{ type, status: is },
    ...defined({ reason, message }),
  }));
  const of = (type: string) => conditions.find((condition) => condition.type === type);
  const bad = [of("Degraded")].filter((each) => each?.status === "True");
  const pending = [of("Ready"), of("MembersSynced")].filter((each) => each?.status === "False");
  const [first] = [...bad, ...pending];
  const { boundVolumeGroupContentName: content } = status ?? {};
  return {
    kind: "VolumeGroup",
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    ready: of("Ready")?.status === "True",
    synced: of("MembersSynced")?.status === "True",
    ...defined({ className: spec.volumeGroupClassName, content, askedAt: metadata.creationTimestamp }),
    memberCount: status?.memberCount ?? 0,
    members: status?.members ?? [],
    conditions,
    ...defined({ growth: status?.growth }),
    snapshots,
    message: status === undefined ? "no controller has taken it up" : (first?.message ?? ""),
  };
}

const yes = (value: boolean): string => (value ? "yes" : "no");

/** The table of `group list` for volume groups; empty when there are none. */
export function renderVolumeGroups(groups: readonly VolumeGroupReport[], now: Date, wide = false): string {
  if (groups.length === 0) return "";
  const header = ["NAMESPACE", "GROUP", "READY", "SYNCED", "MEMBERS", "SNAPSHOTS", "AGE", "MESSAGE"];
  return table(
    wide ? [...header, "CLAIMS"] : header,
    groups.map((group) => [
      group.namespace,
      group.name,
      yes(group.ready),
      yes(group.synced),
      String(group.memberCount),
      String(group.snapshots.length),
      age(group.askedAt, now),
      group.message,
      ...(wide ? [group.members.map(({ claimName }) => claimName).join(",")] : []),
    ]),
  );
}

/** What `group show` prints of a volume group. */
export function renderVolumeGroup(group: VolumeGroupReport): string {
  const state = group.ready ? (group.synced ? "ready" : "ready, changing") : "not ready";
  const head = `${group.namespace}/${group.name}: ${state}${group.message === "" ? "" : `: ${group.message}`}`;
  const members =
    group.members.length === 0
      ? "no members\n"
      : table(
          ["CLAIM", "STATE", "REASON", "MESSAGE"],
          group.members.map(({ claimName, message, reason, state: is }) => [claimName, is, reason, message]),
        );
  const snapshots = group.snapshots.length === 0 ? "" : `\nsnapshots: ${group.snapshots.join(", ")}\n`;
  const { grown, size, total, waiting = [] } = group.growth ?? {};
  const why = waiting.map(({ claimName, message }) => `  ${claimName}: ${message}\n`).join("");
  const growth = size === undefined ? "" : `\nsize: ${grown} of ${total} members have ${size}\n${why}`;
  return `${head}\n\n${members}${growth}${snapshots}`;
}

/** Whether deleting the group deletes its claims and volumes as well. */
export async function deletesMembers(store: ObjectStore, { content }: VolumeGroupReport): Promise<boolean> {
  if (content === undefined) return false;
  const found = await read({ store }, VolumeGroupContents, { name: content });
  return found?.spec.deletionPolicy === "Delete" && found.spec.deleteMembers === "true";
}
