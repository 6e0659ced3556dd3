import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { CsiError, createServer, endpointFromEnvironment, type Services } from "@mooring/csi";
import { directoryDriver } from "./driver.ts";

interface Group {
  name: string;
  members: string[];
}
type Groups = Record<string, Group>;

/** More volumes than this are not handled as one. */
const MOST = 32;

/** The volumes that there are: those that have their record, as the driver leaves it. */
async function volumesIn(root: string): Promise<Map<string, { volumeId: string; capacityBytes: bigint }>> {
  const ids = (await readdir(root)).filter((id) => /^vol-[0-9a-f]{32}$/.test(id)).sort();
  const records = ids.map((id) => readFile(join(root, id, "record.json"), "utf8").catch(() => undefined));
  const found = (await Promise.all(records)).flatMap((text, index) =>
    text ? [{ volumeId: ids[index] ?? "", capacityBytes: BigInt(JSON.parse(text).capacityBytes) }] : [],
  );
  return new Map(found.map((volume) => [volume.volumeId, volume]));
}

/** The driver of this folder, with groups of its volumes: who is in which stands in one file beside them. */
export function withGroups({ controller, ...others }: Services, root: string): Services {
  const file = join(root, "groups.json");
  let queue: Promise<unknown> = Promise.resolve();

  async function read(): Promise<Groups> {
    const text = await readFile(file, "utf8").catch(() => "{}");
    return JSON.parse(text);
  }
  /** One change at a time, and one write of one file: a change is made as a whole or not at all. */
  function change<T>(make: (groups: Groups) => Promise<T> | T): Promise<T> {
    const changed = queue.then(async () => {
      const groups = await read();
      const result = await make(groups);
      await writeFile(`${file}.new`, JSON.stringify(groups), { flush: true });
      await rename(`${file}.new`, file);
      return result;
    });
    queue = changed.catch(() => {});
    return changed;
  }

  /** A group as every response has it: the volumes of a group that has some are never left out. */
  async function response(volumeGroupId: string, { members }: Group) {
    const known = await volumesIn(root);
    return { volumeGroupId, volumes: members.flatMap((id) => known.get(id) ?? []) };
  }
  /** Throws for the first volume that cannot be a member, or gives the members: a set, whatever was sent twice. */
  async function fit(groups: Groups, own: string, volumeIds: readonly string[]): Promise<string[]> {
    const known = await volumesIn(root);
    const members = [...new Set(volumeIds)].sort();
    if (members.length > MOST) throw CsiError.resourceExhausted(`a group has ${MOST} volumes at most`);
    for (const id of members) {
      if (!known.has(id)) throw CsiError.notFound(`volume ${id} does not exist`);
      const other = Object.entries(groups).find(([key, each]) => key !== own && each.members.includes(id));
      if (other) throw CsiError.failedPrecondition(`volume ${id} is in group ${other[1].name}`);
    }
    return members;
  }
  function mustExist(groups: Groups, id: string): Group {
    const group = Object.hasOwn(groups, id) ? groups[id] : undefined;
    if (group === undefined) throw CsiError.notFound(`volume group ${id} does not exist`);
    return group;
  }

  const volumeGroup: Services["volumeGroup"] = {
    createVolumeGroup: ({ name, parameters, volumeIds }) =>
      change(async (groups) => {
        const [parameter] = Object.keys(parameters);
        if (parameter) throw CsiError.invalidArgument(`parameter ${parameter} is not known`);
        const id = `vg-${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
        const wanted = [...new Set(volumeIds)].sort();
        const group = groups[id] ?? { name, members: await fit(groups, id, wanted) };
        if (wanted.join() !== group.members.join())
          throw CsiError.alreadyExists(`group ${name} exists with other volumes`);
        groups[id] = group;
        return { volumeGroup: await response(id, group) };
      }),
    modifyVolumeGroupMembership: ({ volumeGroupId, volumeIds }) =>
      change(async (groups) => {
        const group = mustExist(groups, volumeGroupId);
        group.members = await fit(groups, volumeGroupId, volumeIds);
        return { volumeGroup: await response(volumeGroupId, group) };
      }),
    deleteVolumeGroup: ({ volumeGroupId }) =>
      change((groups) => {
        const group = Object.hasOwn(groups, volumeGroupId) ? groups[volumeGroupId] : undefined;
        if (group && group.members.length > 0)
          throw CsiError.failedPrecondition(`group ${group.name} has volumes: take them out first`);
        delete groups[volumeGroupId];
        return {};
      }),
    async controllerGetVolumeGroup({ volumeGroupId }) {
      return { volumeGroup: await response(volumeGroupId, mustExist(await read(), volumeGroupId)) };
    },
    async listVolumeGroups({ maxEntries, startingToken }) {
      if (startingToken !== "" && !/^vg-[0-9a-f]{32}$/.test(startingToken))
        throw CsiError.aborted("not a token of mine");
      const after = Object.entries(await read())
        .filter(([id]) => id > startingToken)
        .sort(([a], [b]) => (a < b ? -1 : 1));
      const page = maxEntries > 0 ? after.slice(0, maxEntries) : after;
      const entries = await Promise.all(
        page.map(async ([id, group]) => ({ volumeGroup: await response(id, group) })),
      );
      return { entries, nextToken: page.length < after.length ? (page.at(-1)?.[0] ?? "") : "" };
    },
  };
  const deleteVolume: NonNullable<Services["controller"]>["deleteVolume"] = (request, context) =>
    // In the queue, so that the volume joins no group while it goes.
    change((groups) => {
      const group = Object.values(groups).find(({ members }) => members.includes(request.volumeId));
      if (group) throw CsiError.failedPrecondition(`volume ${request.volumeId} is in group ${group.name}`);
      return controller?.deleteVolume?.(request, context) ?? {};
    });
  return { ...others, controller: { ...controller, deleteVolume }, volumeGroup };
}

/** Serves the driver with its groups: `CSI_ENDPOINT=unix:///run/csi.sock VOLUMES=/srv/volumes npm run groups`. */
export async function serveWithGroups(endpoint: string, root: string, nodeId = hostname()) {
  await mkdir(root, { recursive: true });
  // Which calls there are is read off the handlers; these two are promises that handlers cannot show.
  const volumeGroup = ["LIMIT_VOLUME_TO_ONE_VOLUME_GROUP", "DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES"] as const;
  const more = ["SINGLE_NODE_MULTI_WRITER"] as const;
  const server = createServer(withGroups(directoryDriver(root, nodeId), root), {
    endpoint,
    capabilities: { controller: more, node: more, volumeGroup },
  });
  await server.start();
  return server;
}

if (process.argv[1] === import.meta.filename) {
  const server = await serveWithGroups(endpointFromEnvironment(), process.env.VOLUMES ?? "/srv/volumes");
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void server.stop());
}
