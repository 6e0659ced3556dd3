import {
  applyJsonPatch,
  applyMergePatch,
  badRequest,
  Events,
  ifNeverBegun,
  type JsonList,
  type JsonListEnd,
  type JsonStore,
  type JsonWatchEvent,
  type ListOptions,
  type Patch,
  type Resource,
  StatusError,
  type UnstructuredObject,
} from "@mooring/store";
import { type Collection, storedCollection } from "../resources/collection.ts";
import { coreFieldSelector, fromCoreEvent, toCoreEvent } from "./convert.ts";

/** The newer of the two groups in which events are served; they are stored in core. */
export const EVENTS_GROUP = "events.k8s.io";

/** events.k8s.io/v1 Events: the core/v1 Events of the store in their newer form, both ways. */
export function eventsCollection(store: JsonStore): Collection {
  const core = storedCollection(store, Events as unknown as Resource<UnstructuredObject>);
  const show = (json: string) => JSON.stringify(fromCoreEvent(JSON.parse(json) as UnstructuredObject));
  return {
    getJson: (key) => show(core.getJson(key)),
    listJson(options) {
      const list = core.listJson(inCoreNames(options));
      const pages = ifNeverBegun(mapPages(list.pages, show), () => void list.pages.return({}));
      return { resourceVersion: list.resourceVersion, pages };
    },
    watchJson: (options) => mapEvents(core.watchJson(inCoreNames(options)), show),
    create: async (event, options) => fromCoreEvent(await core.create(toCoreEvent(event), options)),
    update: async (event, options) => fromCoreEvent(await core.update(toCoreEvent(event), options)),
    async patch(key, patch, options) {
      const current = fromCoreEvent(JSON.parse(core.getJson(key)) as UnstructuredObject);
      const wanted = toCoreEvent(patchedEvent(current, patch));
      return fromCoreEvent(await core.update(wanted, options));
    },
    delete: async (key, options) => fromCoreEvent(await core.delete(key, options)),
  };
}

function inCoreNames<T extends Pick<ListOptions, "fieldSelector">>(options: T): T {
  const { fieldSelector } = options;
  return fieldSelector === undefined
    ? options
    : { ...options, fieldSelector: coreFieldSelector(fieldSelector) };
}

/** Events have no lists that merge by key, so a strategic merge patch is a merge patch. */
function patchedEvent(current: UnstructuredObject, patch: Patch): UnstructuredObject {
  if (patch.type === "apply") {
    throw new StatusError("UnsupportedMediaType", "server-side apply is not supported for events.k8s.io");
  }
  const result: unknown =
    patch.type === "json"
      ? applyJsonPatch<unknown>(current, patch.body)
      : applyMergePatch(current, patch.body);
  if (typeof result !== "object" || result === null || !("metadata" in result)) {
    throw badRequest("the patch does not leave an object");
  }
  return result as UnstructuredObject;
}

async function* mapPages(
  pages: JsonList["pages"],
  show: (json: string) => string,
): AsyncGenerator<string[], JsonListEnd> {
  try {
    for (;;) {
      const page = await pages.next();
      if (page.done) return page.value;
      yield page.value.map(show);
    }
  } finally {
    await pages.return({});
  }
}

async function* mapEvents(
  events: AsyncGenerator<JsonWatchEvent, void>,
  show: (json: string) => string,
): AsyncGenerator<JsonWatchEvent, void> {
  for await (const event of events) {
    yield event.type === "BOOKMARK"
      ? { ...event, json: event.json.replace('"apiVersion":"v1"', `"apiVersion":"${EVENTS_GROUP}/v1"`) }
      : { type: event.type, json: show(event.json) };
  }
}
