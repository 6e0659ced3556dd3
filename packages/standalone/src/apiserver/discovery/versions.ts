import type { KindInfo, KindRegistry } from "../../kinds/kind-info.ts";
import { ABSENT_KINDS } from "./absent-kinds.ts";
import { VIRTUAL_KINDS, type VirtualKind } from "./virtual-kinds.ts";

/** The Kubernetes version whose API this is. */
export const SERVED_VERSION = {
  major: "1",
  minor: "35",
  gitVersion: "v1.35.0+mooring",
  gitCommit: "0000000000000000000000000000000000000000",
  gitTreeState: "clean",
  buildDate: "2025-12-17T00:00:00Z",
  goVersion: "none",
  compiler: "node",
  platform: `linux/${process.arch === "x64" ? "amd64" : process.arch}`,
};

/** One group with its versions, the preferred one first. */
export interface ServedGroup {
  name: string;
  versions: string[];
}

/** One version of one group. */
export interface GroupVersion {
  group: string;
  version: string;
}

/** Groups in a fixed order: core first, then by name; versions as Kubernetes ranks them. */
export function servedGroups(kinds: KindRegistry): ServedGroup[] {
  const groups = new Map<string, Set<string>>();
  const add = (group: string, version: string) => {
    const versions = groups.get(group) ?? new Set();
    groups.set(group, versions.add(version));
  };
  for (const kind of kinds.all()) for (const version of kind.versions) add(kind.resource.group, version);
  for (const { group, version } of [...VIRTUAL_KINDS, ...ABSENT_KINDS]) add(group, version);
  return [...groups]
    .map(([name, versions]) => ({ name, versions: [...versions].sort(compareVersions) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The kinds that are stored and served in this version. */
export function kindsOf(kinds: KindRegistry, { group, version }: GroupVersion): KindInfo[] {
  return kinds
    .all()
    .filter((kind) => kind.resource.group === group && kind.versions.includes(version))
    .sort((a, b) => (a.resource.plural < b.resource.plural ? -1 : 1));
}

/** The kinds of this version that are evaluated or refused and never stored. */
export function virtualKindsOf(kinds: KindRegistry, { group, version }: GroupVersion): VirtualKind[] {
  return [...VIRTUAL_KINDS, ...ABSENT_KINDS].filter(
    (kind) =>
      kind.group === group &&
      kind.version === version &&
      // A definition may have brought it.
      kinds.find(group, version, kind.plural) === undefined,
  );
}

const PRIORITY = /^v(\d+)(?:(alpha|beta)(\d+))?$/;
const STAGE: Readonly<Record<string, number>> = { alpha: 0, beta: 1 };

/** Stable before beta before alpha, then the higher number; what is no such version comes last, by name. */
function compareVersions(a: string, b: string): number {
  const [left, right] = [PRIORITY.exec(a), PRIORITY.exec(b)];
  if (left === null || right === null) {
    if (left !== right) return left === null ? 1 : -1;
    return a < b ? -1 : a > b ? 1 : 0;
  }
  const rank = ([, major, stage, minor]: RegExpExecArray) =>
    [stage === undefined ? 2 : (STAGE[stage] ?? 0), Number(major), Number(minor ?? 0)] as const;
  const [l, r] = [rank(left), rank(right)];
  return r[0] - l[0] || r[1] - l[1] || r[2] - l[2];
}
