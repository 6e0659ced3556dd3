/** One write: what the object became, and what it was. */
export interface StoreEvent {
  readonly revision: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  /** `pods` or `storageclasses.storage.k8s.io`. */
  readonly collection: string;
  readonly path: string;
  /** The object as JSON; of a deletion, the last state with the deletion's revision. */
  readonly json: string;
  /** The object before; undefined for ADDED. */
  readonly previous: string | undefined;
}

/** Where an object is stored: `collection/namespace/name`, the namespace empty for cluster-scoped kinds. */
export function pathOf(collection: string, namespace: string | undefined, name: string): string {
  return `${collection}/${namespace ?? ""}/${name}`;
}

/** The half-open range of paths of a collection, or of one namespace in it. "0" is the character after "/". */
export function rangeOf(collection: string, namespace: string | undefined): { start: string; end: string } {
  const prefix = namespace === undefined || namespace === "" ? collection : `${collection}/${namespace}`;
  return { start: `${prefix}/`, end: `${prefix}0` };
}

/** JSON contains no line feed of its own, so one separates the parts. */
export function encodeEvent(event: StoreEvent): string {
  return [event.type, event.path, event.json, event.previous ?? ""].join("\n");
}

/** Reads an event as the store has recorded it under `revision`. */
export function decodeEvent(revision: number, text: string): StoreEvent {
  const [type = "", path = "", json = "", previous = ""] = text.split("\n");
  return {
    revision,
    type: type as StoreEvent["type"],
    collection: path.slice(0, path.indexOf("/")),
    path,
    json,
    previous: previous === "" ? undefined : previous,
  };
}
