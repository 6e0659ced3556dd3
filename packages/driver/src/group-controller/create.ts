import { type CallContext, Code, type CodeName, CsiError, type v1 } from "@mooring/csi";
import {
  type GroupMember,
  type GroupSnapshot,
  GroupSnapshots,
  MAX_GROUP_MEMBERS,
  MOORING_API_VERSION,
} from "@mooring/engine";
import { defined, failpoint, isAlreadyExists } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { withdraw } from "../controller/withdraw.ts";
import { fromEngine, nothingMade } from "../errors.ts";
import { groupMemberIdOf, groupSnapshotIdOf } from "../names.ts";
import { CREATED_AT, findGroupSnapshot, getVolume } from "../objects/find.ts";
import { requireMovable } from "../objects/require-unmounted.ts";
import { comparedParameters } from "../request/parameters.ts";
import { waitUntil } from "../wait.ts";
import { deadlineSecondsOf } from "./parameters.ts";
import { groupResponse } from "./response.ts";

const recorded = failpoint("driver/create-group-snapshot/group-recorded");
const groupReady = failpoint("driver/create-group-snapshot/group-ready");

interface GroupRequest extends Record<string, unknown> {
  name: string;
  parameters: Record<string, string>;
}

/** CreateVolumeGroupSnapshot. Returns when all members are copied, at one moment, and on disk. */
export async function createGroupSnapshot(
  driver: DriverContext,
  request: v1.CreateVolumeGroupSnapshotRequest,
  { signal }: CallContext,
) {
  requireMembers(request.sourceVolumeIds);
  const deadlineSeconds = deadlineSecondsOf(request.parameters);
  const group = await adoptOrCreate(driver, request, deadlineSeconds, signal);
  const ready = await untilReady(driver, group, signal);
  groupReady();
  return { groupSnapshot: await groupResponse(driver, ready, signal) };
}

function requireMembers(ids: readonly string[]): void {
  if (ids.length === 0) throw CsiError.invalidArgument("source_volume_ids has no volume");
  if (ids.length > MAX_GROUP_MEMBERS) {
    throw CsiError.invalidArgument(
      `source_volume_ids has ${ids.length} volumes, at most ${MAX_GROUP_MEMBERS} can be snapshotted at one moment`,
    );
  }
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw CsiError.invalidArgument(`source_volume_ids has "${twice}" twice`);
}

async function adoptOrCreate(
  driver: DriverContext,
  request: v1.CreateVolumeGroupSnapshotRequest,
  deadlineSeconds: number | undefined,
  signal: AbortSignal,
): Promise<GroupSnapshot> {
  const id = groupSnapshotIdOf(request.name);
  for (;;) {
    const present = await findGroupSnapshot(driver.store, id, signal);
    if (present !== undefined) {
      requireSame(present, request);
      if (present.status?.state !== "failed") return present;
      await withdraw(driver, GroupSnapshots, present, signal);
      continue;
    }
    const members = await membersOf(driver, request, signal);
    const object = groupObject(driver, request, members, deadlineSeconds);
    try {
      const created = await driver.store.create(GroupSnapshots, object, { signal });
      recorded();
      return created;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      throw CsiError.aborted(`group snapshot "${request.name}" is being created by another call`);
    }
  }
}

async function membersOf(
  { store }: DriverContext,
  { name, sourceVolumeIds }: v1.CreateVolumeGroupSnapshotRequest,
  signal: AbortSignal,
): Promise<GroupMember[]> {
  const volumes = await Promise.all(sourceVolumeIds.map((id) => getVolume(store, id, signal)));
  return volumes.map(({ metadata, spec }) => {
    if (metadata.deletionTimestamp !== undefined) {
      throw CsiError.notFound(`volume "${metadata.name}" is being deleted`);
    }
    return { volume: metadata.name, snapshot: groupMemberIdOf(name, metadata.name), pool: spec.pool };
  });
}

function groupObject(
  driver: DriverContext,
  { name, parameters }: v1.CreateVolumeGroupSnapshotRequest,
  members: GroupMember[],
  deadlineSeconds: number | undefined,
): GroupSnapshot {
  const request: GroupRequest = { name, parameters };
  return {
    apiVersion: MOORING_API_VERSION,
    kind: "GroupSnapshot",
    metadata: {
      name: groupSnapshotIdOf(name),
      annotations: { [CREATED_AT]: driver.host.clock.now().toISOString() },
    },
    spec: { members, request, ...defined({ deadlineSeconds }) },
  };
}

/** The same volumes in any order and the same parameters, or ALREADY_EXISTS. */
function requireSame(present: GroupSnapshot, request: v1.CreateVolumeGroupSnapshotRequest): void {
  const { name } = request;
  if (present.metadata.deletionTimestamp !== undefined) {
    throw CsiError.aborted(`group snapshot "${present.metadata.name}" of this name is being deleted`);
  }
  const hint = "Use another name: a group snapshot never changes.";
  const has = present.spec.members.map(({ volume }) => volume).sort();
  if (has.join(" ") !== [...request.sourceVolumeIds].sort().join(" ")) {
    throw CsiError.alreadyExists(`group snapshot "${name}" exists, but of ${has.join(", ")}`, { hint });
  }
  const stored = present.spec.request as GroupRequest | undefined;
  const text = (parameters: Record<string, string>) => JSON.stringify(comparedParameters(parameters));
  if (stored !== undefined && text(stored.parameters) !== text(request.parameters)) {
    throw CsiError.alreadyExists(`group snapshot "${name}" exists with other parameters`, { hint });
  }
}

async function untilReady(
  driver: DriverContext,
  { metadata: { name, uid }, spec }: GroupSnapshot,
  signal: AbortSignal,
) {
  const members = spec.members.map(({ volume }) => volume);
  const settled = (group: GroupSnapshot | undefined): boolean =>
    group === undefined ||
    group.metadata.uid !== uid ||
    group.status?.state === "ready" ||
    group.status?.state === "failed" ||
    (group.status?.state === "committed" && group.status.error !== undefined);
  const group = await waitUntil(
    driver.store,
    { resource: GroupSnapshots, name },
    {
      what: `group snapshot "${name}" to be made`,
      until: settled,
      describe: (object) => object?.status?.error?.message ?? `it is ${object?.status?.state ?? "new"}`,
      giveUp: async () => {
        await requireMovable(driver, members, signal);
        await requireUnhindered(driver, name, signal);
      },
    },
    signal,
  );
  if (group === undefined || group.metadata.uid !== uid) {
    throw CsiError.aborted(`group snapshot "${name}" was deleted while it was being made`);
  }
  if (group.status?.state === "ready") return group;
  const error = fromEngine(group.status?.error ?? { code: "INTERNAL", message: "no reason is recorded" });
  // A member that is lost does not come back by itself, and a group without it is none.
  if (group.status?.state !== "failed" && error.codeName !== "DATA_LOSS") throw asUnfinished(error);
  await withdraw(driver, GroupSnapshots, group, signal);
  throw asRefusal(error);
}

/**
 * Codes after which a caller has to expect that there is, or will be, something of that name. RESOURCE_EXHAUSTED is
 * another one for many, but the specification wants it for a lack of space (section "CreateVolumeGroupSnapshot Errors").
 */
const UNCERTAIN: ReadonlySet<CodeName> = new Set<CodeName>([
  "ABORTED",
  "CANCELLED",
  "DEADLINE_EXCEEDED",
  "UNAVAILABLE",
]);

/** Nothing is left of the attempt: a caller that gave up need not repeat the call to find that out. */
function asRefusal(error: CsiError): CsiError {
  return nothingMade(UNCERTAIN.has(error.codeName) ? withCode(Code.FAILED_PRECONDITION, error) : error);
}

/** It is made, and what is missing is tried again: no caller may take that for a refusal. */
function asUnfinished(error: CsiError): CsiError {
  return error.codeName === "FAILED_PRECONDITION" ? withCode(Code.ABORTED, error) : error;
}

function withCode(code: Code, { message, hint }: CsiError): CsiError {
  return new CsiError(code, message, defined({ hint }));
}

/** It is not known when a silent node is back: a caller whose own deadline comes first would read no reason. */
async function requireUnhindered({ store }: DriverContext, name: string, signal: AbortSignal): Promise<void> {
  const { state, error } = (await findGroupSnapshot(store, name, signal))?.status ?? {};
  if (state !== "preparing" || error === undefined) return;
  const hint = "Repeat the call: the group snapshot is made as soon as it can be.";
  throw CsiError.aborted(`pending, because ${error.message}`, { hint });
}
