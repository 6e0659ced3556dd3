import { defined } from "@mooring/store";
import { EngineError } from "../../errors.ts";
import { getAttachment } from "../../tickets/attachment-object.ts";
import { attachVolume, findVolume } from "../attach.ts";
import { detachVolume } from "../detach.ts";
import { createSnapshotOf, deleteSnapshotOf, findSnapshotOf, listSnapshotsOf } from "../snapshots.ts";
import { type Body, flag, labels, text, time } from "./body.ts";
import type { RestContext } from "./request.ts";
import type { CollectionResource, SnapshotResource, VolumeResource } from "./resources.ts";
import { snapshotResource } from "./snapshot-resource.ts";
import { type ACTIONS, volumeResource } from "./volume-resource.ts";

type Action = (context: RestContext, volume: string, body: Body) => Promise<object>;

/** `POST /v1/volumes/{name}?action=...`, by action; the result is the body. */
export const RUN: Readonly<Record<(typeof ACTIONS)[number], Action>> = {
  attach: async (context, volume, body) => {
    const { store, user, now, signal } = context;
    requireOperatorType(text(body, "attacherType"));
    const hostId = text(body, "hostId");
    if (hostId === undefined) throw new EngineError("INVALID_ARGUMENT", "hostId has to name a node");
    const attachmentID = text(body, "attachmentID");
    const expiresAt = time(body, "expiresAt");
    const wish = {
      ...{ volume, hostId, disableFrontend: flag(body, "disableFrontend"), queue: flag(body, "queue") },
      attachedBy: text(body, "attachedBy") ?? user,
      ...defined({ attachmentID, expiresAt }),
    };
    await attachVolume(store, wish, now(), signal);
    return show(context, volume);
  },
  detach: async (context, volume, body) => {
    const attachmentID = text(body, "attachmentID");
    const wish = {
      ...{ volume, forceDetach: flag(body, "forceDetach"), scope: scopeOf(text(body, "scope")) },
      attachedBy: text(body, "attachedBy") ?? context.user,
      ...defined({ attachmentID }),
    };
    await detachVolume(context.store, wish, context.signal);
    return show(context, volume);
  },
  snapshotCRCreate: async ({ store, signal }, volume, body) => {
    const name = text(body, "name");
    const wish = { labels: labels(body, "labels"), ...defined({ name }) };
    return snapshotResource(await createSnapshotOf(store, volume, wish, signal));
  },
  snapshotCRList: async ({ store, signal }, volume) => {
    const data = (await listSnapshotsOf(store, volume, signal)).map(snapshotResource);
    return {
      type: "collection",
      resourceType: "snapshotCR",
      data,
    } satisfies CollectionResource<SnapshotResource>;
  },
  snapshotCRGet: async ({ store, signal }, volume, body) => {
    await findVolume(store, volume, signal);
    return snapshotResource(await findSnapshotOf(store, volume, named(body), signal));
  },
  snapshotCRDelete: async ({ store, signal }, volume, body) => {
    await deleteSnapshotOf(store, volume, named(body), signal);
    return {};
  },
};

/** The volume with its tickets, as it is now. */
export async function show({ store, base, signal }: RestContext, name: string): Promise<VolumeResource> {
  const volume = await findVolume(store, name, signal);
  return volumeResource(volume, await getAttachment(store, name, signal), base);
}

/** Only operators write tickets here; for all other users a controller does it. */
function requireOperatorType(type: string | undefined): void {
  if (type === undefined || type === "longhorn-api") return;
  throw new EngineError(
    "PERMISSION_DENIED",
    `tickets of type ${JSON.stringify(type)} are not written by operators`,
    {
      hint: 'Leave attacherType out, or use "longhorn-api".',
    },
  );
}

function scopeOf(scope: string | undefined): "workload" | "all" {
  if (scope === undefined || scope === "workload") return "workload";
  if (scope === "all") return scope;
  throw new EngineError("INVALID_ARGUMENT", 'scope has to be "workload" or "all"');
}

function named(body: Body): string {
  const name = text(body, "name");
  if (name === undefined) throw new EngineError("INVALID_ARGUMENT", "name has to name a snapshot");
  return name;
}
