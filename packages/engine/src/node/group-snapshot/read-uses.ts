import { stat } from "node:fs/promises";
import type { GroupMember } from "../../api/group-snapshot.ts";
import { EngineError } from "../../errors.ts";
import { majorMinor } from "../../host/device-numbers.ts";
import { freezableGroup } from "../../host/freezer/cgroup-folder.ts";
import { cgroupOf, deviceOpeners, type Opener } from "../../host/freezer/device-openers.ts";
import type { Host, MountEntry } from "../../host/host.ts";
import { folderUsers } from "../../pools/folder-users.ts";
import type { Image } from "../../pools/image.ts";
import type { AgentContext } from "../context.ts";
import { visibleMount } from "../copy/visible-mount.ts";
import type { OpenPool } from "../open-pools.ts";
import type { MemberUse } from "./choose-quiesce.ts";

/** A member of this node, its pool and its image. */
export interface LocatedMember extends GroupMember {
  open: OpenPool;
  image: Image;
}

/** Throws UNAVAILABLE for a pool that is not open yet, `withoutLease` without a lease, DATA_LOSS for an image that is gone. */
export async function locate(
  context: AgentContext,
  members: readonly GroupMember[],
  withoutLease: "UNAVAILABLE" | "ABORTED" = "UNAVAILABLE",
): Promise<LocatedMember[]> {
  const { pools } = context;
  return Promise.all(
    members.map(async (member) => {
      const open = pools.get(member.pool);
      if (open === undefined) throw new EngineError("UNAVAILABLE", `pool ${member.pool} is not open`);
      const image = await open.backend.find(member.volume);
      if (image === undefined)
        throw new EngineError("DATA_LOSS", `the image of volume ${member.volume} is gone`);
      const located = { ...member, open, image };
      requireLeases(context, [located], withoutLease);
      return located;
    }),
  );
}

/** An image of a shared pool is what it seems only to the holder of its lease: another node may be writing to it. */
export function requireLeases(
  { sharing }: AgentContext,
  members: readonly LocatedMember[],
  code: "UNAVAILABLE" | "ABORTED",
): void {
  for (const { open, volume } of members) {
    if (!open.layout.several || sharing?.leases.holds(volume) === true) continue;
    throw new EngineError(code, `the lease of the image of volume ${volume} is not held by this node`);
  }
}

/** Who uses the members now. */
export async function readUses(
  context: AgentContext,
  members: readonly LocatedMember[],
): Promise<MemberUse[]> {
  const { host } = context;
  const mounts = await host.mounts.list();
  const attached = await Promise.all(members.map((member) => attachment(host, member)));
  const raw = attached
    .filter((d) => d !== undefined && !isMounted(mounts, d.path))
    .map((d) => d?.number ?? "");
  const openers = raw.length === 0 ? new Map<string, Opener[]>() : await deviceOpeners(new Set(raw));
  const own = await cgroupOf("self");
  return Promise.all(
    members.map(async (member, index): Promise<MemberUse> => {
      const { volume, open } = member;
      const pool = { name: open.name, type: open.backend.type };
      if (!open.backend.block) return { volume, pool, use: folderUse(mounts, member.image) };
      const device = attached[index];
      if (device === undefined) return { volume, pool, use: { as: "unused" } };
      const mount = await visibleMount(mounts, device.path);
      if (mount !== undefined) return { volume, pool, use: { as: "filesystem", mount: mount.target } };
      const groups = (openers.get(device.number) ?? []).map(({ cgroup }) =>
        freezableGroup(mounts, cgroup, own),
      );
      if (groups.length > 0)
        return { volume, pool, use: { as: "device", device: device.path, cgroups: groups } };
      const [where] = (await host.loops.users(device.path)).filter((user) => !isNode(mounts, user));
      return { volume, pool, use: where === undefined ? { as: "unused" } : { as: "hidden", where } };
    }),
  );
}

interface Device {
  /** `/dev/loop3` */
  path: string;
  /** `7:3` */
  number: string;
}

async function attachment(host: Host, { open, image }: LocatedMember): Promise<Device | undefined> {
  if (!open.backend.block) return undefined;
  const device = await host.loops.find(image.path);
  if (device === undefined) return undefined;
  return { path: device.path, number: majorMinor((await stat(device.path)).rdev) };
}

const isMounted = (mounts: readonly MountEntry[], device: string): boolean =>
  mounts.some(({ source, fsType }) => source === device && fsType !== "devtmpfs");

/** A block volume that is published but not open: only its node in /dev is bound to somewhere. */
function isNode(mounts: readonly MountEntry[], user: string): boolean {
  return mounts.some(({ target, fsType }) => fsType === "devtmpfs" && user === `mounted at ${target}`);
}

function folderUse(mounts: readonly MountEntry[], { path }: Image): MemberUse["use"] {
  const [where] = folderUsers(mounts, path);
  return where === undefined ? { as: "unused" } : { as: "hidden", where };
}
