import type { JsonStore, Resource, UnstructuredObject } from "@mooring/store";
import { EVENTS_GROUP, eventsCollection } from "../events/collection.ts";
import { type Collection, storedCollection } from "./collection.ts";

/** Where the objects of a kind are: most are stored as they are served, new-style events are a view of core ones. */
export function collectionOf(store: JsonStore, resource: Resource<UnstructuredObject>): Collection {
  if (resource.group === EVENTS_GROUP && resource.plural === "events") return eventsCollection(store);
  return storedCollection(store, resource);
}
