import { VolumeGroups } from "@mooring/sidecars";
import { getIfAny, type ObjectStore, VolumeGroupSnapshots } from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

/** What `mooring group` calls its two kinds of things. */
type TargetKind = "vg" | "vgs";

interface Target {
  kind: TargetKind;
  name: string;
}

const KINDS: Readonly<Record<string, TargetKind>> = {
  ...{ vg: "vg", volumegroup: "vg", volumegroups: "vg" },
  ...{ vgs: "vgs", volumegroupsnapshot: "vgs", volumegroupsnapshots: "vgs" },
};

/**
 * `vg/NAME` is a VolumeGroup, `vgs/NAME` a group snapshot, NAME alone whichever of the two is there. Throws when both are,
 * or neither.
 */
export async function targetOf(store: ObjectStore, namespace: string, text: string): Promise<Target> {
  const [first = "", second, ...rest] = text.split("/");
  const kind = Object.hasOwn(KINDS, first) ? KINDS[first] : undefined;
  if (second !== undefined) {
    if (kind === undefined || second === "" || rest.length > 0)
      throw new CommandError(`cannot find what ${JSON.stringify(text)} is`, {
        next: "write NAME, vg/NAME for a volume group, or vgs/NAME for a group snapshot",
      });
    return { kind, name: second };
  }
  const key = { namespace, name: text };
  const [group, snapshot] = await Promise.all([
    getIfAny(store, VolumeGroups, key),
    getIfAny(store, VolumeGroupSnapshots, key),
  ]);
  const isGroup = group !== undefined;
  const isSnapshot = snapshot !== undefined;
  if (isGroup && isSnapshot)
    throw new CommandError(`both a VolumeGroup and a VolumeGroupSnapshot are called ${text}`, {
      next: `say which: vg/${text} or vgs/${text}`,
    });
  if (!isGroup && !isSnapshot)
    throw new CommandError(`VolumeGroup or VolumeGroupSnapshot "${text}" not found`, {
      next: "check its name and its namespace (-n); those that are there: mooring group list -A",
      exitCode: EXIT.negative,
    });
  return { kind: isGroup ? "vg" : "vgs", name: text };
}
