import { CsiError, type volumegroup } from "@mooring/csi";

export interface BackendVolumeGroup {
  id: string;
  name: string;
  /** Of everything that a repetition must repeat. */
  parameters: string;
  members: Set<string>;
}

/** The volume groups of a storage system in memory: a volume is in at most one of them, a change is made whole or not. */
export class VolumeGroupBackend {
  readonly groups = new Map<string, BackendVolumeGroup>();
  /** Ids of volumes that exist; undefined: all do. */
  known: Set<string> | undefined;
  /** Volumes that must not be in a group. */
  readonly refused = new Map<string, CsiError>();
  /** Volumes that were deleted together with a group. */
  readonly deletedVolumes = new Set<string>();
  /** DeleteVolumeGroup refuses a group that has members. */
  keepsVolumes = false;
  mostMembers = Number.POSITIVE_INFINITY;
  #next = 1;

  create({ name, parameters }: volumegroup.CreateVolumeGroupRequest): BackendVolumeGroup {
    const wanted = JSON.stringify(Object.entries(parameters).sort());
    const there = [...this.groups.values()].find((group) => group.name === name);
    if (there !== undefined) {
      if (there.parameters === wanted) return there;
      throw CsiError.alreadyExists(`group ${name} exists with other parameters`);
    }
    const group = { id: `vg-${this.#next++}`, name, parameters: wanted, members: new Set<string>() };
    this.groups.set(group.id, group);
    return group;
  }

  modify(id: string, volumeIds: readonly string[]): BackendVolumeGroup {
    const group = this.get(id);
    if (new Set(volumeIds).size > this.mostMembers)
      throw CsiError.resourceExhausted(`a group has at most ${this.mostMembers} volumes`);
    for (const volume of volumeIds) this.#check(group, volume);
    group.members = new Set(volumeIds);
    return group;
  }

  #check(group: BackendVolumeGroup, volume: string): void {
    if (this.known?.has(volume) === false) throw CsiError.notFound(`volume ${volume} does not exist`);
    const refusal = this.refused.get(volume);
    if (refusal !== undefined && !group.members.has(volume)) throw refusal;
    const other = [...this.groups.values()].find(({ id, members }) => id !== group.id && members.has(volume));
    if (other !== undefined) throw CsiError.failedPrecondition(`volume ${volume} is in group ${other.id}`);
  }

  delete(id: string): void {
    const group = this.groups.get(id);
    if (group === undefined) return;
    if (this.keepsVolumes && group.members.size > 0)
      throw CsiError.failedPrecondition(`group ${id} has members`);
    for (const volume of group.members) this.deletedVolumes.add(volume);
    this.groups.delete(id);
  }

  get(id: string): BackendVolumeGroup {
    const group = this.groups.get(id);
    if (group === undefined) throw CsiError.notFound(`volume group ${id} does not exist`);
    return group;
  }

  /** The group that a volume is in. */
  groupOf(volume: string): BackendVolumeGroup | undefined {
    return [...this.groups.values()].find(({ members }) => members.has(volume));
  }
}

const wire = ({ id, members }: BackendVolumeGroup) => ({
  volumeGroupId: id,
  volumeGroupContext: { made: "here" },
  volumes: [...members].map((volumeId) => ({ volumeId, capacityBytes: 1n << 30n })),
});

type On = <Q extends object, A>(
  method: string,
  operation: (request: Q) => A,
) => (request: Q, context: { signal: AbortSignal }) => Promise<A>;

/** What a driver can have of the service; the names of its methods. */
export type VolumeGroupMethod = "get" | "list" | "modify";

/** The service volumegroup.Controller in front of the backend. */
export function volumeGroupService(
  backend: VolumeGroupBackend,
  can: readonly VolumeGroupMethod[],
  on: On,
  pageSize: () => number,
) {
  const group = (found: BackendVolumeGroup) => ({ volumeGroup: wire(found) });
  return {
    createVolumeGroup: on("CreateVolumeGroup", (request: volumegroup.CreateVolumeGroupRequest) =>
      group(backend.create(request)),
    ),
    deleteVolumeGroup: on("DeleteVolumeGroup", ({ volumeGroupId }: volumegroup.DeleteVolumeGroupRequest) => {
      backend.delete(volumeGroupId);
      return {};
    }),
    ...(can.includes("modify")
      ? {
          modifyVolumeGroupMembership: on(
            "ModifyVolumeGroupMembership",
            ({ volumeGroupId, volumeIds }: volumegroup.ModifyVolumeGroupMembershipRequest) =>
              group(backend.modify(volumeGroupId, volumeIds)),
          ),
        }
      : {}),
    ...(can.includes("get")
      ? {
          controllerGetVolumeGroup: on(
            "ControllerGetVolumeGroup",
            ({ volumeGroupId }: volumegroup.ControllerGetVolumeGroupRequest) =>
              group(backend.get(volumeGroupId)),
          ),
        }
      : {}),
    ...(can.includes("list")
      ? {
          listVolumeGroups: on(
            "ListVolumeGroups",
            ({ startingToken }: volumegroup.ListVolumeGroupsRequest) => {
              const start = Number(startingToken || 0);
              const all = [...backend.groups.values()];
              const end = start + pageSize();
              return {
                entries: all.slice(start, end).map(group),
                nextToken: end < all.length ? String(end) : "",
              };
            },
          ),
        }
      : {}),
  };
}
