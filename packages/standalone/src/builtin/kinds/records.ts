import { defineResource, Events, Leases, type UnstructuredObject } from "@mooring/store";
import { age } from "../../kinds/age.ts";
import { ageColumn, type BuiltinKind, column, dig, digText, text, wide } from "../../kinds/builtin-kind.ts";
import { type FieldError, invalid } from "../../schema/field-error.ts";
import { coreTypes } from "../types/core.ts";
import { coordinationTypes, eventTypes } from "../types/other-groups.ts";

function lastSeen(event: UnstructuredObject, now: Date): string {
  const times = [
    dig(event, "series", "lastObservedTime"),
    dig(event, "lastTimestamp"),
    dig(event, "eventTime"),
  ];
  const first = firstSeen(event, now);
  const last = times.find((time) => typeof time === "string");
  const at = age(typeof last === "string" ? last : undefined, now);
  const count = Number(dig(event, "series", "count") ?? dig(event, "count") ?? 1);
  return count > 1 ? `${at} (x${count} over ${first})` : at;
}

function firstSeen(event: UnstructuredObject, now: Date): string {
  const first = dig(event, "firstTimestamp") ?? dig(event, "eventTime");
  return age(typeof first === "string" ? first : undefined, now);
}

const objectOf = (event: UnstructuredObject, field: string): string =>
  `${digText(event, field, "kind").toLowerCase()}/${digText(event, field, "name")}`;

/** An event lives in its object's namespace, or in `default` for cluster-wide objects. */
function namespaceErrors(event: UnstructuredObject, field: string): FieldError[] {
  const of = digText(event, field, "namespace");
  const own = event.metadata.namespace ?? "";
  const fits = of === "" ? ["", "default", "kube-system"].includes(own) : of === own;
  return fits ? [] : [invalid(`${field}.namespace`, of, "does not match event.namespace")];
}

const events: BuiltinKind = {
  resource: Events,
  schema: coreTypes.get("Event"),
  singular: "event",
  shortNames: ["ev"],
  nameColumn: column("Last Seen", (event, now) => lastSeen(event, now).replace(/ \(.*/, "")),
  columns: [
    column("Type", (event) => digText(event, "type")),
    column("Reason", (event) => digText(event, "reason")),
    column("Object", (event) => objectOf(event, "involvedObject")),
    wide("Subobject", (event) => digText(event, "involvedObject", "fieldPath")),
    wide("Source", (event) => sourceOf(event)),
    column("Message", (event) => digText(event, "message").trim()),
    wide("First Seen", firstSeen),
    wide("Count", (event) => Number(dig(event, "series", "count") ?? dig(event, "count") ?? 1)),
    column("Name", (event) => event.metadata.name, { priority: 1, format: "name" }),
  ],
  rules: {
    validate: (event) => namespaceErrors(event, "involvedObject"),
    selectableFields(event) {
      const fields: Record<string, string> = {};
      for (const field of [
        "kind",
        "namespace",
        "name",
        "uid",
        "apiVersion",
        "resourceVersion",
        "fieldPath",
      ]) {
        fields[`involvedObject.${field}`] = digText(event, "involvedObject", field);
      }
      return {
        ...fields,
        reason: digText(event, "reason"),
        type: digText(event, "type"),
        reportingComponent: digText(event, "reportingComponent"),
        source: digText(event, "source", "component") || digText(event, "reportingComponent"),
      };
    },
  },
};

function sourceOf(event: UnstructuredObject): string {
  const component = digText(event, "source", "component") || digText(event, "reportingComponent");
  const host = digText(event, "source", "host") || digText(event, "reportingInstance");
  return host === "" ? component : `${component}, ${host}`;
}

/** Their objects are the events of the core group: the API server translates (`apiserver/events`). */
const newEvents: BuiltinKind = {
  resource: defineResource({
    group: "events.k8s.io",
    version: "v1",
    kind: "Event",
    plural: "events",
    namespaced: true,
  }),
  schema: eventTypes.get("Event"),
  singular: "event",
  shortNames: ["ev"],
  columns: [
    column("Type", (event) => digText(event, "type")),
    column("Reason", (event) => digText(event, "reason")),
    column("Object", (event) => objectOf(event, "regarding")),
    column("Message", (event) => digText(event, "note")),
    ageColumn,
  ],
  rules: {
    selectableFields: (event) => ({
      reason: digText(event, "reason"),
      type: digText(event, "type"),
      reportingController: digText(event, "reportingController"),
      "regarding.kind": digText(event, "regarding", "kind"),
      "regarding.name": digText(event, "regarding", "name"),
      "regarding.namespace": digText(event, "regarding", "namespace"),
      "regarding.uid": digText(event, "regarding", "uid"),
    }),
  },
};

const leases: BuiltinKind = {
  resource: Leases,
  schema: coordinationTypes.get("Lease"),
  singular: "lease",
  columns: [column("Holder", (lease) => text(dig(lease, "spec", "holderIdentity"), "")), ageColumn],
  rules: {
    validate(lease) {
      const duration = dig(lease, "spec", "leaseDurationSeconds");
      const transitions = dig(lease, "spec", "leaseTransitions");
      const errors: FieldError[] = [];
      if (typeof duration === "number" && duration <= 0) {
        errors.push(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"));
      }
      if (typeof transitions === "number" && transitions < 0) {
        errors.push(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"));
      }
      return errors;
    },
  },
};

/** Kinds that record what has happened, and who holds what. */
export const recordKinds: readonly BuiltinKind[] = [events, newEvents, leases];
