import { defined, isNotFound } from "@mooring/store";
import { VolumeAttachments } from "../../api/attachment.ts";
import { Volumes } from "../../api/volume.ts";
import { EngineError } from "../../errors.ts";
import { RUN, show } from "./actions.ts";
import { bodyOf } from "./body.ts";
import { failure, type RestResponse, responseTo } from "./errors.ts";
import type { RestContext, RestRequest } from "./request.ts";
import type { AttachmentsResource, CollectionResource, VolumeResource } from "./resources.ts";
import { attachmentsResource, volumeResource } from "./volume-resource.ts";

/**
 * `GET /v1/volumes[/NAME]`, `GET /v1/volumeattachments[/NAME]` and `POST /v1/volumes/NAME?action=ACTION`. Failures are
 * responses too: `{type: "error", status, code, message, detail}`. Throws only errors that we did not foresee.
 */
export async function handleVolumes(request: RestRequest, context: RestContext): Promise<RestResponse> {
  try {
    const [collection, name, ...rest] = request.path;
    if (!isCollection(collection) || rest.length > 0)
      return failure(404, `there is nothing at /v1/${request.path.join("/")}`);
    if (request.method === "POST" && collection === "volumes" && name !== undefined)
      return await act(request, context, name);
    if (request.method !== "GET" && request.method !== "HEAD") {
      return failure(405, `${request.method} is not possible here`);
    }
    return { status: 200, body: await COLLECTIONS[collection](context, name) };
  } catch (error) {
    return responseTo(error);
  }
}

async function act(
  { action = "", body }: RestRequest,
  context: RestContext,
  volume: string,
): Promise<RestResponse> {
  if (!Object.hasOwn(RUN, action)) {
    const known = Object.keys(RUN).join(", ");
    return failure(404, `volumes have no action ${JSON.stringify(action)}`, {
      detail: `There are: ${known}.`,
    });
  }
  return { status: 200, body: await RUN[action as keyof typeof RUN](context, volume, bodyOf(body)) };
}

type Serve = (context: RestContext, name: string | undefined) => Promise<object>;

const COLLECTIONS = {
  volumes: (context, name) => (name === undefined ? volumes(context) : show(context, name)),
  volumeattachments: (context, name) =>
    name === undefined ? attachments(context) : attachment(context, name),
} satisfies Record<string, Serve>;

function isCollection(name: string | undefined): name is keyof typeof COLLECTIONS {
  return name !== undefined && Object.hasOwn(COLLECTIONS, name);
}

async function volumes({ store, base, signal }: RestContext): Promise<CollectionResource<VolumeResource>> {
  const options = defined({ signal });
  const byName = new Map(
    (await store.list(VolumeAttachments, options)).items.map((a) => [a.metadata.name, a]),
  );
  const { items } = await store.list(Volumes, options);
  const data = items.map((volume) => volumeResource(volume, byName.get(volume.metadata.name), base));
  return { type: "collection", resourceType: "volume", links: { self: `${base}/v1/volumes` }, data };
}

async function attachments({
  store,
  base,
  signal,
}: RestContext): Promise<CollectionResource<AttachmentsResource & { id: string }>> {
  const { items } = await store.list(VolumeAttachments, defined({ signal }));
  const data = items.map((item) => ({
    id: item.metadata.name,
    ...attachmentsResource(item.spec.volume, item),
  }));
  const links = { self: `${base}/v1/volumeattachments` };
  return { type: "collection", resourceType: "volumeAttachment", links, data };
}

async function attachment({ store, signal }: RestContext, name: string): Promise<object> {
  try {
    const found = await store.get(VolumeAttachments, { name }, signal);
    return { id: name, type: "volumeAttachment", ...attachmentsResource(found.spec.volume, found) };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new EngineError("NOT_FOUND", `there is no attachment object of volume "${name}"`);
  }
}
