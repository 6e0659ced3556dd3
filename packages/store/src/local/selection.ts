import type { UnstructuredObject } from "../object/meta.ts";
import type { Resource } from "../object/resource.ts";
import { apiVersionOf, groupResource } from "../object/resource.ts";
import { type FieldRequirement, matchesFields, parseFieldSelector } from "../select/field-selector.ts";
import { matchesLabels, parseLabelSelector } from "../select/label-selector.ts";
import type { LabelRequirement } from "../select/requirement.ts";
import { pathOf, rangeOf, type StoreEvent } from "./event.ts";
import type { ResourceDefinition } from "./registry.ts";

/** Kubernetes' longest name of an object, in characters: what asks for a longer one asks for nothing. */
const LONGEST_NAME = 253;

/** Which objects of a collection a request is about, and in which version it wants them. */
export class Selection {
  readonly definition: ResourceDefinition;
  readonly collection: string;
  /** Paths `[start, end)`. */
  readonly start: string;
  readonly end: string;
  readonly #labels: LabelRequirement[];
  readonly #fields: FieldRequirement[];
  readonly #resource: Resource;
  readonly #jsonPrefix: string;

  /** Throws BadRequest for selectors that cannot be parsed. */
  constructor(
    definition: ResourceDefinition,
    resource: Resource,
    options: { namespace?: string; labelSelector?: string; fieldSelector?: string },
  ) {
    this.definition = definition;
    this.#resource = resource;
    this.collection = groupResource(resource);
    this.#labels = parseLabelSelector(options.labelSelector);
    this.#fields = parseFieldSelector(options.fieldSelector);
    this.#checkFields();
    const namespace = definition.resource.namespaced ? options.namespace : undefined;
    ({ start: this.start, end: this.end } = this.#range(namespace));
    this.#jsonPrefix = `{"apiVersion":"${apiVersionOf(resource)}"`;
  }

  /** Every object of the range is selected: nothing has to be parsed. */
  get everything(): boolean {
    return this.#labels.length === 0 && this.#fields.length === 0;
  }

  /** The path is one of the range. */
  covers(path: string): boolean {
    return path >= this.start && path < this.end;
  }

  matches(json: string): boolean {
    if (this.everything) return true;
    const object = JSON.parse(json) as UnstructuredObject;
    return matchesLabels(this.#labels, object.metadata.labels) && this.#matchesFields(object);
  }

  /** What a watcher of this selection sees of an event, if anything. */
  view(event: StoreEvent): { type: StoreEvent["type"]; json: string } | undefined {
    if (!this.covers(event.path)) return undefined;
    const before = event.previous !== undefined && this.matches(event.previous);
    const after = event.type !== "DELETED" && this.matches(event.json);
    if (before && after) return { type: "MODIFIED", json: this.present(event.json) };
    if (after) return { type: "ADDED", json: this.present(event.json) };
    if (!before || event.previous === undefined) return undefined;
    // Also when it only left the selection: the last state that belonged to it, with the revision of the change.
    const json = event.type === "DELETED" ? event.json : withRevision(event.previous, event.revision);
    return { type: "DELETED", json: this.present(json) };
  }

  /** The object in the version of the request. Stored JSON begins with its apiVersion, so most need no parsing. */
  present(json: string): string {
    if (json.startsWith(this.#jsonPrefix)) return json;
    return JSON.stringify(inVersion(this.definition, JSON.parse(json) as UnstructuredObject, this.#resource));
  }

  /** One path when the request names one object; `kubectl get -w NAME` and waits ask like this. */
  #range(namespace: string | undefined): { start: string; end: string } {
    const name = this.#fields.find(({ field, equal }) => equal && field === "metadata.name")?.value;
    const { namespaced } = this.definition.resource;
    // The database has no key of such a length, and refuses to look for one.
    if ([namespace, name].some((each) => each !== undefined && each.length > LONGEST_NAME))
      return { start: `${this.collection}/`, end: `${this.collection}/` };
    if (name === undefined || name === "" || (namespaced && !namespace)) {
      return rangeOf(this.collection, namespace);
    }
    const path = pathOf(this.collection, namespace, name);
    return { start: path, end: `${path}\0` };
  }

  #matchesFields(object: UnstructuredObject): boolean {
    return this.#fields.length === 0 || matchesFields(this.#fields, this.#fieldsOf(object));
  }

  #fieldsOf(object: UnstructuredObject): Record<string, string> {
    const { name, namespace = "" } = object.metadata;
    const own = { "metadata.name": name, "metadata.namespace": namespace };
    return { ...own, ...this.definition.strategy?.selectableFields?.(object) };
  }

  /** Refuses unknown fields even where there is no object yet to match. */
  #checkFields(): void {
    if (this.#fields.length === 0) return;
    const { kind } = this.definition.resource;
    const blank: UnstructuredObject = {
      apiVersion: apiVersionOf(this.#resource),
      kind,
      metadata: { name: "" },
    };
    matchesFields(
      this.#fields.map((requirement) => ({ ...requirement, value: "" })),
      this.#fieldsOf(blank),
    );
  }
}

/** The object in that version of its kind, apiVersion first. */
export function inVersion(
  definition: ResourceDefinition,
  object: UnstructuredObject,
  resource: Pick<Resource, "group" | "version">,
): UnstructuredObject {
  const apiVersion = apiVersionOf(resource);
  if (object.apiVersion === apiVersion) return object;
  const converted = definition.strategy?.convert?.(object, resource.version) ?? object;
  const { apiVersion: _apiVersion, kind, ...rest } = converted;
  return { apiVersion, kind, ...rest };
}

/** The JSON of an object at another revision. */
function withRevision(json: string, revision: number): string {
  const object = JSON.parse(json) as UnstructuredObject;
  object.metadata.resourceVersion = String(revision);
  return JSON.stringify(object);
}
