import type {
  CSINode,
  Node,
  PersistentVolumeClaim,
  StorageClass,
  VolumeAttributesClass,
} from "@mooring/store";
import { defined, parseQuantity } from "@mooring/store";
import type { Intent } from "../common/create-volume/intent.ts";
import { dataSourceOf, dataSourceReference, isElsewhere } from "../common/data-source.ts";
import { RESERVED_PARAMETERS } from "../common/names.ts";
import { toMode } from "../csi/access-modes.ts";
import type { Capability } from "../csi/capability.ts";
import type { DriverInfo } from "../csi/driver-info.ts";
import {
  type SecretRef,
  STORAGE_CLASS_ROLES,
  secretReference,
  storageClassTokens,
  TemplateError,
} from "../secrets/references.ts";
import { accessibilityFor } from "../topology/requirement.ts";
import { selectedNodeOf, volumeNameFor } from "./claim.ts";
import { cloneSource, type SourceObjects, type SourceResult, snapshotSource } from "./data-source.ts";
import { driverParameters, fsTypeOf } from "./parameters.ts";

/** How claims become requests; the names are those of the external-provisioner's flags. */
export interface ProvisionOptions {
  volumeNamePrefix: string;
  /** Negative: the whole UID with its dashes. */
  volumeNameUuidLength: number;
  extraCreateMetadata: boolean;
  defaultFsType: string;
  strictTopology: boolean;
  immediateTopology: boolean;
  controllerPublishReadonly: boolean;
  preventVolumeModeConversion: boolean;
}

/** What external-provisioner does without flags. */
export const PROVISION_DEFAULTS: ProvisionOptions = {
  volumeNamePrefix: "pvc",
  volumeNameUuidLength: -1,
  extraCreateMetadata: false,
  defaultFsType: "",
  strictTopology: false,
  immediateTopology: true,
  controllerPublishReadonly: false,
  preventVolumeModeConversion: true,
};

/** Everything that the arguments of CreateVolume follow from. */
export interface PlanInput {
  claim: PersistentVolumeClaim;
  storageClass: StorageClass;
  driver: DriverInfo;
  options: ProvisionOptions;
  source: SourceObjects;
  nodes: readonly Node[];
  csiNodes: readonly CSINode[];
  attributesClass: VolumeAttributesClass | undefined;
  /** What others allow and do about the data source; absent where they say nothing. */
  sourceRules?: SourceRules;
}

/** What decides about a data source beside the source itself. */
export interface SourceRules {
  /** A ReferenceGrant of its namespace lets the claim refer to it. Asked for sources in other namespaces only. */
  granted: boolean;
  /** No populator has registered to fill volumes from sources of its kind. */
  unpopulated: boolean;
}

/** The arguments of CreateVolume, or why there are none. */
export type Plan =
  | { kind: "intent"; intent: Intent }
  /** `pending`: the data source is on its way; nothing has to be changed. */
  | { kind: "error"; error: string; pending?: true }
  /** The chosen node cannot be used: ask the scheduler for another. */
  | { kind: "reschedule"; error: string }
  /** `unpopulated`: see {@link SourceRules}. */
  | { kind: "foreign"; what: string; unpopulated?: true };

/** Ends planning from inside a helper. */
class Rejection extends Error {
  readonly pending: boolean;
  constructor(message: string, pending: boolean) {
    super(message);
    this.pending = pending;
  }
}
const reject = (message: string, pending = false): never => {
  throw new Rejection(message, pending);
};

/** Turns a claim into one CreateVolume call, or returns why that cannot be. */
export function plan(input: PlanInput): Plan {
  try {
    return planOrThrow(input);
  } catch (error) {
    if (error instanceof Rejection && error.pending)
      return { kind: "error", error: error.message, pending: true };
    if (error instanceof Rejection || error instanceof TemplateError)
      return { kind: "error", error: error.message };
    throw error;
  }
}

function planOrThrow(input: PlanInput): Plan {
  const { claim, storageClass, driver, options } = input;
  const source = dataSourceOf(claim);
  if (source.kind === "error") return { kind: "error", error: source.error };
  checkGrant(input);
  if (source.kind === "foreign") {
    const unpopulated = input.sourceRules?.unpopulated === true;
    return { kind: "foreign", what: source.what, ...(unpopulated && { unpopulated }) };
  }
  checkCapabilities(claim, driver, source.kind);
  if (claim.spec?.selector !== undefined) reject("claim Selector is not supported");
  const { uid = "", name: claimName, namespace = "" } = claim.metadata;
  const name = volumeNameFor(uid, options.volumeNamePrefix, options.volumeNameUuidLength);
  const classParameters = storageClass.parameters ?? {};
  const capabilities = capabilitiesOf(input, classParameters);
  const content = contentSource(input, source);
  const places = accessibilityOf(input);
  if ("lost" in places) return { kind: "reschedule", error: places.lost };
  const secrets = secretsOf(classParameters, name, claim);
  const stripped = driverParameters(classParameters);
  if ("error" in stripped) return { kind: "error", error: stripped.error };
  const selectedNode = selectedNodeOf(claim);
  const mutable = mutableParameters(input);
  const { fsType } = capabilities;
  const volumeAttributesClassName = claim.spec?.volumeAttributesClassName;
  const { provisioner, controllerModify, ...refs } = secrets;
  return {
    kind: "intent",
    intent: {
      driver: driver.name,
      claim: { namespace, name: claimName, uid },
      arguments: {
        name,
        capacityRange: { requiredBytes: requestedBytes(claim).toString() },
        volumeCapabilities: capabilities.list,
        parameters: {
          ...stripped.parameters,
          ...(options.extraCreateMetadata ? metadataParameters(claim, name) : {}),
        },
        ...defined({ mutableParameters: mutable, volumeContentSource: content?.volumeContentSource }),
        ...places,
      },
      ...defined({ secret: provisioner, source: content?.ref, selectedNode }),
      volume: {
        accessModes: claim.spec?.accessModes ?? [],
        ...defined({ mountOptions: storageClass.mountOptions }),
        reclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
        storageClassName: storageClass.metadata.name,
        volumeMode: claim.spec?.volumeMode ?? "Filesystem",
        ...(fsType === undefined || fsType === "" ? {} : { fsType }),
        ...(options.controllerPublishReadonly && isReadOnly(capabilities.list) ? { readOnly: true } : {}),
        ...(volumeAttributesClassName ? { volumeAttributesClassName } : {}),
        secretRefs: renameRefs(refs),
        ...defined({ modifySecret: controllerModify }),
      },
    },
  };
}

/** Who may write claims in one namespace must not read the data of another by that alone. */
function checkGrant({ claim, sourceRules }: PlanInput): void {
  const source = dataSourceReference(claim);
  if (source === undefined || !isElsewhere(claim, source) || sourceRules?.granted === true) return;
  const { kind, namespace, name } = source;
  const { name: claimName, namespace: from } = claim.metadata;
  // The grant may come with the claim, in the same `kubectl apply`.
  reject(
    `accessing ${namespace}/${name} of ${kind} dataSource from ${from}/${claimName} isn't allowed: ` +
      `no ReferenceGrant in namespace ${namespace} lets PersistentVolumeClaims of namespace ${from} refer to it`,
    true,
  );
}

function checkCapabilities(claim: PersistentVolumeClaim, driver: DriverInfo, source: string): void {
  const needs = [
    ["CREATE_DELETE_VOLUME", driver.controller],
    ["CREATE_DELETE_SNAPSHOT", source === "VolumeSnapshot"],
    ["CLONE_VOLUME", source === "PersistentVolumeClaim"],
    ["MODIFY_VOLUME", Boolean(claim.spec?.volumeAttributesClassName)],
  ] as const;
  if (!driver.controller) reject(`driver ${driver.name} has no controller service`);
  for (const [capability, needed] of needs)
    if (needed && !driver.can.has(capability)) reject(`driver ${driver.name} does not support ${capability}`);
}

function requestedBytes(claim: PersistentVolumeClaim): bigint {
  const request = claim.spec?.resources?.requests?.storage;
  return request === undefined ? reject("the claim requests no storage") : parseQuantity(request);
}

function capabilitiesOf(input: PlanInput, parameters: Readonly<Record<string, string>>) {
  const { claim, driver, options, storageClass } = input;
  const given = fsTypeOf(parameters);
  if ("error" in given) return reject(given.error);
  const block = claim.spec?.volumeMode === "Block";
  const fsType = block ? undefined : (given.fsType ?? options.defaultFsType);
  const mountFlags = storageClass.mountOptions ?? [];
  const fine = driver.can.has("SINGLE_NODE_MULTI_WRITER");
  const list = (claim.spec?.accessModes ?? []).map((accessMode): Capability => {
    const mode = toMode(accessMode, fine) ?? reject(`unsupported access mode ${accessMode}`);
    return fsType === undefined ? { mode } : { mode, mount: { fsType, mountFlags } };
  });
  if (list.length === 0) reject("the claim has no access modes");
  return { fsType, list };
}

function isReadOnly(capabilities: Capability[]): boolean {
  return capabilities.length === 1 && capabilities[0]?.mode === "MULTI_NODE_READER_ONLY";
}

function contentSource(input: PlanInput, source: ReturnType<typeof dataSourceOf>) {
  const { claim, driver, options } = input;
  let result: SourceResult | undefined;
  if (source.kind === "VolumeSnapshot")
    result = snapshotSource(claim, source.name, input.source, {
      driver: driver.name,
      preventModeConversion: options.preventVolumeModeConversion,
    });
  if (source.kind === "PersistentVolumeClaim")
    result = cloneSource(claim, source.name, input.source, driver.name);
  if (result === undefined) return undefined;
  return "error" in result ? reject(result.error, result.pending) : result;
}

function accessibilityOf(input: PlanInput) {
  const { claim, driver, options, storageClass, nodes, csiNodes } = input;
  if (!driver.topology) return {};
  const selectedNode = selectedNodeOf(claim);
  const result = accessibilityFor({
    driver: driver.name,
    claimName: claim.metadata.name,
    ...defined({ selectedNode }),
    allowed: storageClass.allowedTopologies,
    nodes,
    csiNodes,
    strict: options.strictTopology,
    immediate: options.immediateTopology,
  });
  if ("error" in result) return reject(result.error);
  return "lost" in result ? result : defined(result);
}

type Secrets = { [role in keyof typeof STORAGE_CLASS_ROLES]?: SecretRef };

function secretsOf(
  parameters: Readonly<Record<string, string>>,
  volumeName: string,
  claim: PersistentVolumeClaim,
): Secrets {
  const tokens = storageClassTokens(volumeName, claim);
  const found = Object.entries(STORAGE_CLASS_ROLES).map(
    ([role, keys]) => [role, secretReference(keys, parameters, tokens)] as const,
  );
  return Object.fromEntries(found.filter(([, ref]) => ref !== undefined)) as Secrets;
}

function renameRefs(refs: Omit<Secrets, "provisioner" | "controllerModify">): Intent["volume"]["secretRefs"] {
  return Object.fromEntries(Object.entries(refs).map(([role, ref]) => [`${role}SecretRef`, ref]));
}

function mutableParameters({
  claim,
  driver,
  attributesClass,
}: PlanInput): Record<string, string> | undefined {
  const name = claim.spec?.volumeAttributesClassName;
  if (!name) return undefined;
  if (attributesClass === undefined) return reject(`VolumeAttributesClass ${name} does not exist`);
  if (attributesClass.driverName !== driver.name)
    return reject(`VolumeAttributesClass ${name} is for driver ${attributesClass.driverName}`);
  return attributesClass.parameters ?? {};
}

function metadataParameters(claim: PersistentVolumeClaim, volumeName: string): Record<string, string> {
  return {
    [`${RESERVED_PARAMETERS}pvc/name`]: claim.metadata.name,
    [`${RESERVED_PARAMETERS}pvc/namespace`]: claim.metadata.namespace ?? "",
    [`${RESERVED_PARAMETERS}pv/name`]: volumeName,
  };
}
