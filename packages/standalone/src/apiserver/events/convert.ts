import type { UnstructuredObject } from "@mooring/store";

type Fields = Record<string, unknown>;

/** Fields that the two versions call differently: events.k8s.io/v1 name, core/v1 name. */
const RENAMED: readonly (readonly [string, string])[] = [
  ["regarding", "involvedObject"],
  ["note", "message"],
  ["reportingController", "reportingComponent"],
  ["deprecatedSource", "source"],
  ["deprecatedFirstTimestamp", "firstTimestamp"],
  ["deprecatedLastTimestamp", "lastTimestamp"],
  ["deprecatedCount", "count"],
];

function renamed(object: Fields, from: 0 | 1, to: 0 | 1): Fields {
  const names = new Map(RENAMED.map((pair) => [pair[from], pair[to]]));
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [names.get(name) ?? name, value]));
}

/** The core/v1 form, which is the stored one. */
export function toCoreEvent(event: UnstructuredObject): UnstructuredObject {
  return { ...renamed(event, 0, 1), apiVersion: "v1", kind: "Event", metadata: event.metadata };
}

/** The events.k8s.io/v1 form. */
export function fromCoreEvent(event: UnstructuredObject): UnstructuredObject {
  const converted = { ...renamed(event, 1, 0), metadata: event.metadata };
  return { eventTime: null, ...converted, apiVersion: "events.k8s.io/v1", kind: "Event" };
}

const FIELD_NAMES: Readonly<Record<string, string>> = {
  note: "message",
  reportingController: "reportingComponent",
};

/** A field selector in core's names: `regarding.name=x` becomes `involvedObject.name=x`. */
export function coreFieldSelector(selector: string): string {
  // A comma behind a backslash is part of a value.
  return (selector.match(/(?:\\.?|[^\\,])+/gs) ?? [])
    .map((term) => {
      const [, field = "", rest = ""] = /^([^=!]*)(.*)$/s.exec(term) ?? [];
      return (FIELD_NAMES[field] ?? field.replace(/^regarding(?=\.|$)/, "involvedObject")) + rest;
    })
    .join(",");
}
