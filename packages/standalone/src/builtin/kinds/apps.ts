import {
  ControllerRevisions,
  Deployments,
  ReplicaSets,
  StatefulSets,
  type UnstructuredObject,
} from "@mooring/store";
import {
  ageColumn,
  type BuiltinKind,
  column,
  dig,
  digList,
  digObject,
  digText,
  text,
} from "../../kinds/builtin-kind.ts";
import { type FieldError, forbidden, invalid, required } from "../../schema/field-error.ts";
import { clone, isObject, type JsonObject, jsonEqual } from "../../schema/model.ts";
import { immutable, noUpdates } from "../immutable.ts";
import { appsTypes } from "../types/workloads.ts";
import { claimSpecErrors } from "./claim.ts";
import { requireWayBack, STORAGE } from "./claim-template-size.ts";
import { defaultPodSpec } from "./pod-defaults.ts";
import { count, templateColumns, workloadErrors } from "./pod-template.ts";

const ALWAYS = ["Always"];
const SCALE = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  labelSelectorPath: ".spec.selector",
};

function defaultTemplate(object: UnstructuredObject): void {
  defaultPodSpec(digObject(object, "spec", "template", "spec"));
}

/** `25%` or a number that is not negative. */
function shareErrors(value: unknown, path: string): FieldError[] {
  if (typeof value === "number") {
    return value >= 0 ? [] : [invalid(path, value, "must be greater than or equal to 0")];
  }
  const fits = typeof value === "string" && /^\d+%$/.test(value);
  const detail = "a valid percent string must be a numeric string followed by an ending '%'";
  return fits ? [] : [invalid(path, value, detail)];
}

function deploymentErrors(deployment: UnstructuredObject): FieldError[] {
  const errors = workloadErrors(deployment, ALWAYS);
  const strategy = digObject(deployment, "spec", "strategy");
  const at = "spec.strategy.rollingUpdate";
  if (strategy.type === "Recreate") {
    const why = "may not be specified when strategy `type` is 'Recreate'";
    return strategy.rollingUpdate === undefined ? errors : [...errors, forbidden(at, why)];
  }
  const { maxUnavailable, maxSurge } = digObject(strategy, "rollingUpdate");
  errors.push(...shareErrors(maxUnavailable, `${at}.maxUnavailable`));
  errors.push(...shareErrors(maxSurge, `${at}.maxSurge`));
  if (Number.parseInt(String(maxUnavailable), 10) === 0 && Number.parseInt(String(maxSurge), 10) === 0) {
    errors.push(invalid(`${at}.maxUnavailable`, maxUnavailable, "may not be 0 when `maxSurge` is 0"));
  }
  const ready = count(deployment, "spec", "minReadySeconds");
  if (count(deployment, "spec", "progressDeadlineSeconds") <= ready) {
    const path = "spec.progressDeadlineSeconds";
    const detail = "must be greater than minReadySeconds";
    errors.push(invalid(path, dig(deployment, "spec", "progressDeadlineSeconds"), detail));
  }
  return errors;
}

const deployments: BuiltinKind = {
  resource: Deployments,
  schema: appsTypes.get("Deployment"),
  singular: "deployment",
  shortNames: ["deploy"],
  categories: ["all"],
  hasStatus: true,
  scale: SCALE,
  columns: [
    column("Ready", (d) => `${count(d, "status", "readyReplicas")}/${count(d, "spec", "replicas")}`),
    column("Up-to-date", (d) => count(d, "status", "updatedReplicas"), { type: "integer" }),
    column("Available", (d) => count(d, "status", "availableReplicas"), { type: "integer" }),
    ageColumn,
    ...templateColumns(),
  ],
  rules: {
    defaults(deployment) {
      defaultTemplate(deployment);
      const strategy = digObject(deployment, "spec", "strategy");
      if (strategy.type === "Recreate") return;
      strategy.rollingUpdate = {
        ...{ maxUnavailable: "25%", maxSurge: "25%" },
        ...digObject(strategy, "rollingUpdate"),
      };
    },
    validate: deploymentErrors,
    validateUpdate: (next, old) => immutable(next, old, "spec.selector"),
  },
};

const replicaSets: BuiltinKind = {
  resource: ReplicaSets,
  schema: appsTypes.get("ReplicaSet"),
  singular: "replicaset",
  shortNames: ["rs"],
  categories: ["all"],
  hasStatus: true,
  scale: SCALE,
  columns: [
    column("Desired", (rs) => count(rs, "spec", "replicas"), { type: "integer" }),
    column("Current", (rs) => count(rs, "status", "replicas"), { type: "integer" }),
    column("Ready", (rs) => count(rs, "status", "readyReplicas"), { type: "integer" }),
    ageColumn,
    ...templateColumns(),
  ],
  rules: {
    defaults: defaultTemplate,
    validate: (rs) => workloadErrors(rs, ALWAYS),
    validateUpdate: (next, old) => immutable(next, old, "spec.selector"),
    selectableFields: (rs) => ({ "status.replicas": String(count(rs, "status", "replicas")) }),
  },
};

/** What may change of a StatefulSet's spec; of the templates of its claims, the size (see {@link requireWayBack}). */
const MUTABLE = [
  ...["replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"],
  ...["persistentVolumeClaimRetentionPolicy", "minReadySeconds"],
];
const FIXED = `updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy', 'minReadySeconds' and 'volumeClaimTemplates[*].spec.resources.requests.storage' are forbidden`;

function statefulSetErrors(set: UnstructuredObject): FieldError[] {
  const names = new Set<string>();
  const claims = digList(set, "spec", "volumeClaimTemplates").flatMap((template, i) => {
    const at = `spec.volumeClaimTemplates[${i}]`;
    const name = digText(template, "metadata", "name");
    const twice = names.has(name);
    names.add(name);
    return [
      ...(name === "" ? [required(`${at}.metadata.name`)] : []),
      ...(twice ? [invalid(`${at}.metadata.name`, name, "must be unique")] : []),
      ...claimSpecErrors(digObject(template, "spec"), `${at}.spec`),
    ];
  });
  const spec = digObject(set, "spec");
  const mounted = { ...spec, template: withClaimVolumes(digObject(spec, "template"), [...names]) };
  const rolling = digObject(spec, "updateStrategy", "rollingUpdate");
  const refused = mayBeMissing(rolling.maxUnavailable, "spec.updateStrategy.rollingUpdate.maxUnavailable");
  return [...claims, ...refused, ...workloadErrors({ ...set, spec: mounted }, ALWAYS)];
}

/** At least one pod, at most all of them. */
function mayBeMissing(value: unknown, path: string): FieldError[] {
  if (value === undefined) return [];
  const errors = shareErrors(value, path);
  if (errors.length > 0) return errors;
  const amount = Number.parseInt(String(value), 10);
  if (amount === 0) return [invalid(path, value, "cannot be 0")];
  return typeof value === "string" && amount > 100
    ? [invalid(path, value, "must not be greater than 100%")]
    : [];
}

/** Containers mount claims of the set by the names of their templates. */
function withClaimVolumes(template: JsonObject, names: readonly string[]): JsonObject {
  const spec = digObject(template, "spec");
  const own = digList(spec, "volumes").filter(({ name }) => !names.includes(String(name)));
  const claimed = names
    .filter((name) => name !== "")
    .map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  return { ...template, spec: { ...spec, volumes: [...own, ...claimed] } };
}

function statefulSetUpdateErrors(next: UnstructuredObject, old: UnstructuredObject): FieldError[] {
  const [after, allowed] = [digObject(next, "spec"), clone(digObject(old, "spec"))];
  for (const field of MUTABLE) {
    if (after[field] === undefined) delete allowed[field];
    else allowed[field] = after[field];
  }
  for (const [i, template] of digList(allowed, "volumeClaimTemplates").entries()) {
    const size = dig(after, "volumeClaimTemplates", i, ...STORAGE);
    if (size === undefined) continue;
    digObject(template, "spec", "resources", "requests").storage = size;
  }
  return jsonEqual(allowed, after) ? [] : [forbidden("spec", FIXED)];
}

const statefulSets: BuiltinKind = {
  resource: StatefulSets,
  schema: appsTypes.get("StatefulSet"),
  singular: "statefulset",
  shortNames: ["sts"],
  categories: ["all"],
  hasStatus: true,
  scale: SCALE,
  columns: [
    column("Ready", (set) => `${count(set, "status", "readyReplicas")}/${count(set, "spec", "replicas")}`),
    ageColumn,
    ...templateColumns({ selector: false }),
  ],
  rules: {
    defaults(set) {
      defaultTemplate(set);
      const strategy = digObject(set, "spec", "updateStrategy");
      if (strategy.type === "RollingUpdate")
        strategy.rollingUpdate = { partition: 0, ...digObject(strategy, "rollingUpdate") };
      for (const template of digList(set, "spec", "volumeClaimTemplates")) {
        template.apiVersion ??= "v1";
        template.kind ??= "PersistentVolumeClaim";
        template.status = { phase: "Pending" };
      }
    },
    validate: statefulSetErrors,
    validateUpdate: statefulSetUpdateErrors,
    admit: requireWayBack,
  },
};

function controllerOf(object: UnstructuredObject): string {
  const owner = (object.metadata.ownerReferences ?? []).find(({ controller }) => controller === true);
  if (owner === undefined) return "<none>";
  const [group = ""] = owner.apiVersion.includes("/") ? owner.apiVersion.split("/") : [];
  return `${owner.kind.toLowerCase()}${group === "" ? "" : `.${group}`}/${owner.name}`;
}

const controllerRevisions: BuiltinKind = {
  resource: ControllerRevisions,
  schema: appsTypes.get("ControllerRevision"),
  singular: "controllerrevision",
  columns: [
    column("Controller", controllerOf),
    column("Revision", (revision) => Number(text(dig(revision, "revision"), "0")), { type: "integer" }),
    ageColumn,
  ],
  rules: {
    validate: (revision) => (isObject(revision.data) ? [] : [required("data", "data is mandatory")]),
    validateUpdate: (next, old) => noUpdates(next, old, "data"),
  },
};

/** Workloads that keep their pods running. */
export const appsKinds: readonly BuiltinKind[] = [
  deployments,
  replicaSets,
  statefulSets,
  controllerRevisions,
];
