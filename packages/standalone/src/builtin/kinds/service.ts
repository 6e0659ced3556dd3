import { defineResource, type UnstructuredObject } from "@mooring/store";
import {
  ageColumn,
  type BuiltinKind,
  column,
  dig,
  digList,
  digObject,
  digStrings,
  digText,
  text,
  wide,
} from "../../kinds/builtin-kind.ts";
import { type FieldError, required } from "../../schema/field-error.ts";
import { coreTypes } from "../types/core.ts";

function ports(service: UnstructuredObject): string {
  return text(
    digList(service, "spec", "ports")
      .map(
        (p) =>
          `${digText(p, "port")}${p.nodePort === undefined ? "" : `:${digText(p, "nodePort")}`}/${digText(p, "protocol")}`,
      )
      .join(","),
  );
}

function portErrors(service: UnstructuredObject): FieldError[] {
  const headless =
    dig(service, "spec", "clusterIP") === "None" || dig(service, "spec", "type") === "ExternalName";
  return headless || digList(service, "spec", "ports").length > 0 ? [] : [required("spec.ports")];
}

/** Stored so that charts install; nothing routes traffic, so every service is headless. */
export const services: BuiltinKind = {
  resource: defineResource({
    group: "",
    version: "v1",
    kind: "Service",
    plural: "services",
    namespaced: true,
  }),
  schema: coreTypes.get("Service"),
  singular: "service",
  shortNames: ["svc"],
  categories: ["all"],
  hasStatus: true,
  columns: [
    column("Type", (s) => digText(s, "spec", "type")),
    column("Cluster-IP", (s) => text(dig(s, "spec", "clusterIP"))),
    column("External-IP", (s) => text(digStrings(s, "spec", "externalIPs").join(","))),
    column("Port(s)", ports),
    ageColumn,
    wide("Selector", (s) =>
      text(
        Object.entries(digObject(s, "spec", "selector"))
          .map(([key, value]) => `${key}=${value}`)
          .join(","),
      ),
    ),
  ],
  rules: {
    name: "label1035",
    prepareCreate(service) {
      service.status = { loadBalancer: {} };
    },
    defaults(service) {
      const spec = digObject(service, "spec");
      for (const port of digList(spec, "ports")) port.targetPort ??= port.port;
      if (spec.type !== "ExternalName") spec.clusterIP ??= "None";
    },
    validate: portErrors,
  },
};
