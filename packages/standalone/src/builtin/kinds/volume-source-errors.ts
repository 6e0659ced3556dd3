import { digObject, digText } from "../../kinds/builtin-kind.ts";
import { type FieldError, forbidden, invalid, notSupported, required } from "../../schema/field-error.ts";
import { isObject } from "../../schema/model.ts";
import { driverNameErrors } from "./driver-errors.ts";

type Fields = Record<string, unknown>;

/** Those without which a driver cannot read one. */
const SECRETS = [
  "controllerPublishSecretRef",
  "controllerExpandSecretRef",
  "nodePublishSecretRef",
  "nodeExpandSecretRef",
];
const HOST_PATH_TYPES = [
  ...["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate"],
  ...["File", "FileOrCreate", "Socket"],
];

const CHECKS: Readonly<Record<string, (source: Fields, path: string) => FieldError[]>> = {
  csi: csiErrors,
  hostPath: (source, path) => [...pathErrors(source, path), ...hostPathTypeErrors(source, path)],
  local: pathErrors,
  nfs: nfsErrors,
};

/** What is wrong with where the data of a PersistentVolume is. `sources`: those of its fields that say so. */
export function volumeSourceErrors(spec: Fields, sources: readonly string[]): FieldError[] {
  // The order in which a Kubernetes API server meets them, as far as two of them are ever given.
  const [first, ...more] = [...sources].sort((a, b) => Number(a === "csi") - Number(b === "csi"));
  if (first === undefined) return [required("spec", "must specify a volume type")];
  const errors = more.map((field) => forbidden(`spec.${field}`, "may not specify more than one volume type"));
  const source = spec[first];
  const check = Object.hasOwn(CHECKS, first) ? CHECKS[first] : undefined;
  if (check !== undefined && isObject(source)) errors.push(...check(source, `spec.${first}`));
  if (isObject(spec.local) && !isObject(spec.nodeAffinity))
    errors.push(required("spec.nodeAffinity", "Local volume requires node affinity"));
  if (digText(spec, "hostPath", "path") === "/" && spec.persistentVolumeReclaimPolicy === "Recycle") {
    const detail = "may not be 'recycle' for a hostPath mount of '/'";
    errors.push(forbidden("spec.persistentVolumeReclaimPolicy", detail));
  }
  return errors;
}

function csiErrors(source: Fields, path: string): FieldError[] {
  return [
    ...driverNameErrors(digText(source, "driver"), `${path}.driver`),
    ...(digText(source, "volumeHandle") === "" ? [required(`${path}.volumeHandle`)] : []),
    ...SECRETS.filter((secret) => isObject(source[secret])).flatMap((secret) =>
      ["name", "namespace"]
        .filter((field) => digText(digObject(source, secret), field) === "")
        .map((field) => required(`${path}.${secret}.${field}`)),
    ),
  ];
}

function pathErrors(source: Fields, path: string): FieldError[] {
  const at = digText(source, "path");
  if (at === "") return [required(`${path}.path`)];
  return at.split("/").includes("..") ? [invalid(`${path}.path`, at, "must not contain '..'")] : [];
}

/** Of what must be there. */
export function hostPathTypeErrors({ type = "" }: Fields, path: string): FieldError[] {
  return HOST_PATH_TYPES.includes(String(type))
    ? []
    : [notSupported(`${path}.type`, type, HOST_PATH_TYPES.slice(1))];
}

function nfsErrors(source: Fields, path: string): FieldError[] {
  const at = digText(source, "path");
  const relative =
    at === "" ? required(`${path}.path`) : invalid(`${path}.path`, at, "must be an absolute path");
  return [
    ...(digText(source, "server") === "" ? [required(`${path}.server`)] : []),
    ...(at.startsWith("/") ? [] : [relative]),
  ];
}
