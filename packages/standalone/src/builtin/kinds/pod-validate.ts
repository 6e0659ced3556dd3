import type { UnstructuredObject } from "@mooring/store";
import { digList, digObject, digText } from "../../kinds/builtin-kind.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notFound,
  notSupported,
  required,
} from "../../schema/field-error.ts";
import { nameProblems } from "../../schema/formats.ts";
import { isObject, type JsonObject } from "../../schema/model.ts";
import { compareQuantities } from "../../schema/quantity.ts";
import { claimSpecErrors } from "./claim.ts";
import { lifeErrors, variableErrors } from "./container-validate.ts";
import { hostPathTypeErrors } from "./volume-source-errors.ts";

/** What must be true within a pod, beyond the types of its fields. */
export function validatePod(pod: UnstructuredObject): FieldError[] {
  return podSpecErrors(digObject(pod, "spec"), "spec");
}

/** Also of the templates of workloads, at `at`: `spec.template.spec`. */
export function podSpecErrors(spec: JsonObject, at: string): FieldError[] {
  const volumes = new Map(digList(spec, "volumes").map((volume) => [digText(volume, "name"), volume]));
  const errors = volumeErrors(digList(spec, "volumes"), at);
  if (digList(spec, "containers").length === 0) errors.push(required(`${at}.containers`));
  const names = new Set<string>();
  for (const field of ["initContainers", "containers"]) {
    for (const [i, container] of digList(spec, field).entries()) {
      const path = `${at}.${field}[${i}]`;
      const isInit = field === "initContainers";
      errors.push(...uniqueName(container, path, names));
      errors.push(...containerErrors(container, path, { volumes, isInit }));
    }
  }
  for (const [i, { operator }] of digList(spec, "tolerations").entries()) {
    // Those that compare numbers are not there where they are not asked for at the server's start.
    if (operator === "Gt" || operator === "Lt")
      errors.push(notSupported(`${at}.tolerations[${i}].operator`, operator, ["Equal", "Exists"]));
  }
  const deadline = spec.activeDeadlineSeconds;
  if (typeof deadline === "number" && deadline < 1) {
    errors.push(
      invalid(`${at}.activeDeadlineSeconds`, deadline, "must be between 1 and 2147483647, inclusive"),
    );
  }
  return errors;
}

function uniqueName(item: JsonObject, path: string, seen: Set<string>): FieldError[] {
  const name = digText(item, "name");
  if (name === "") return [required(`${path}.name`)];
  const errors = nameProblems("label", name).map((p) => invalid(`${path}.name`, name, p));
  if (seen.has(name)) errors.push(duplicate(`${path}.name`, name));
  seen.add(name);
  return errors;
}

function containerErrors(
  container: JsonObject,
  path: string,
  { volumes, isInit }: { volumes: Map<string, JsonObject>; isInit: boolean },
): FieldError[] {
  const errors: FieldError[] = [];
  const image = digText(container, "image");
  if (image === "") errors.push(required(`${path}.image`));
  else if (image !== image.trim()) {
    errors.push(invalid(`${path}.image`, image, "must not have leading or trailing whitespace"));
  }
  return [
    ...errors,
    ...variableErrors(container, path),
    ...lifeErrors(container, path, isInit && container.restartPolicy !== "Always"),
    ...resourceErrors(container, path),
    ...mountErrors(container, path, volumes),
    ...deviceErrors(container, path, volumes),
  ];
}

function resourceErrors(container: JsonObject, path: string): FieldError[] {
  const limits = digObject(container, "resources", "limits");
  const requests = digObject(container, "resources", "requests");
  const negative = (["limits", "requests"] as const).flatMap((side) =>
    Object.entries(side === "limits" ? limits : requests)
      .filter(([, amount]) => compareQuantities(String(amount), "0") < 0)
      .map(([name, amount]) =>
        invalid(`${path}.resources.${side}[${name}]`, amount, "must be greater than or equal to 0"),
      ),
  );
  const excess = Object.entries(requests)
    .filter(
      ([name, amount]) =>
        Object.hasOwn(limits, name) && compareQuantities(String(amount), String(limits[name])) > 0,
    )
    .map(([name, amount]) =>
      invalid(
        `${path}.resources.requests`,
        amount,
        `must be less than or equal to ${name} limit of ${limits[name]}`,
      ),
    );
  return [...negative, ...excess];
}

function subPathProblem(path: string): string | undefined {
  if (path.startsWith("/")) return "must be a relative path";
  return path.split("/").includes("..") ? "must not contain '..'" : undefined;
}

function mountErrors(container: JsonObject, path: string, volumes: Map<string, JsonObject>): FieldError[] {
  const seen = new Set<string>();
  return digList(container, "volumeMounts").flatMap((mount, i) => {
    const at = `${path}.volumeMounts[${i}]`;
    const errors: FieldError[] = [];
    const [name, mountPath] = [digText(mount, "name"), digText(mount, "mountPath")];
    if (name === "") errors.push(required(`${at}.name`));
    if (mountPath === "") errors.push(required(`${at}.mountPath`));
    else if (seen.has(mountPath)) errors.push(invalid(`${at}.mountPath`, mountPath, "must be unique"));
    seen.add(mountPath);
    if (name !== "" && !volumes.has(name)) errors.push(notFound(`${at}.name`, name));
    for (const field of ["subPath", "subPathExpr"]) {
      const problem = subPathProblem(digText(mount, field));
      if (problem !== undefined) errors.push(invalid(`${at}.${field}`, digText(mount, field), problem));
    }
    if (digText(mount, "subPath") !== "" && digText(mount, "subPathExpr") !== "") {
      errors.push(
        invalid(
          `${at}.subPathExpr`,
          digText(mount, "subPathExpr"),
          "subPathExpr and subPath are mutually exclusive",
        ),
      );
    }
    if (digList(container, "volumeDevices").some((device) => digText(device, "devicePath") === mountPath)) {
      errors.push(invalid(`${at}.mountPath`, mountPath, "must not already exist as a path in volumeDevices"));
    }
    return errors;
  });
}

function deviceErrors(container: JsonObject, path: string, volumes: Map<string, JsonObject>): FieldError[] {
  const seen = new Set<string>();
  return digList(container, "volumeDevices").flatMap((device, i) => {
    const at = `${path}.volumeDevices[${i}]`;
    const errors: FieldError[] = [];
    const [name, devicePath] = [digText(device, "name"), digText(device, "devicePath")];
    const volume = volumes.get(name);
    if (name === "") errors.push(required(`${at}.name`));
    else if (volume === undefined) errors.push(notFound(`${at}.name`, name));
    else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined) {
      errors.push(
        invalid(
          `${at}.name`,
          name,
          "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
        ),
      );
    }
    if (devicePath === "") errors.push(required(`${at}.devicePath`));
    else if (seen.has(devicePath)) errors.push(invalid(`${at}.devicePath`, devicePath, "must be unique"));
    if (devicePath.split("/").includes(".."))
      errors.push(invalid(`${at}.devicePath`, devicePath, "must not contain '..'"));
    seen.add(devicePath);
    return errors;
  });
}

function volumeErrors(volumes: readonly JsonObject[], at: string): FieldError[] {
  const names = new Set<string>();
  return volumes.flatMap((volume, i) => {
    const path = `${at}.volumes[${i}]`;
    const errors = uniqueName(volume, path, names);
    const [source, ...more] = Object.keys(volume).filter((field) => field !== "name");
    if (source === undefined) errors.push(required(path, "must specify a volume type"));
    for (const other of more)
      errors.push(forbidden(`${path}.${other}`, "may not specify more than 1 volume type"));
    if (
      isObject(volume.persistentVolumeClaim) &&
      digText(volume, "persistentVolumeClaim", "claimName") === ""
    ) {
      errors.push(required(`${path}.persistentVolumeClaim.claimName`));
    }
    if (isObject(volume.hostPath) && digText(volume, "hostPath", "path").split("/").includes("..")) {
      errors.push(
        invalid(`${path}.hostPath.path`, digText(volume, "hostPath", "path"), "must not contain '..'"),
      );
    }
    if (isObject(volume.hostPath)) errors.push(...hostPathTypeErrors(volume.hostPath, `${path}.hostPath`));
    if (isObject(volume.ephemeral)) errors.push(...ephemeralErrors(volume, `${path}.ephemeral`));
    return errors;
  });
}

function ephemeralErrors(volume: JsonObject, path: string): FieldError[] {
  const template = digObject(volume, "ephemeral").volumeClaimTemplate;
  if (!isObject(template)) return [required(`${path}.volumeClaimTemplate`)];
  return claimSpecErrors(digObject(template, "spec"), `${path}.volumeClaimTemplate.spec`);
}
