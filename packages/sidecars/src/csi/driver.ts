import { addons, Code, type CsiClient, v1 } from "@mooring/csi";
import { callFailure } from "./codes.ts";
import type { ControllerCapability, DriverInfo, VolumeGroupCapability } from "./driver-info.ts";

/** A driver that responds: what it reported about itself, and how to call it. */
export interface Driver {
  info: DriverInfo;
  client: CsiClient;
}

interface CallOptions {
  signal: AbortSignal;
  timeoutMs: number;
}

/** Asks for everything that a driver reports about itself, with `ofNode` also where it runs. Throws what the calls throw. */
export async function describeDriver(
  client: CsiClient,
  { ofNode = false, ...options }: CallOptions & { ofNode?: boolean },
): Promise<DriverInfo> {
  const { name, vendorVersion } = await client.identity.getPluginInfo({}, options);
  const plugin = await client.identity.getPluginCapabilities({}, options);
  const services = new Set<number>();
  let expansion: DriverInfo["expansion"] = "none";
  for (const { type } of plugin.capabilities) {
    if (type.case === "service") services.add(type.value.type);
    if (type.case === "volumeExpansion") expansion = EXPANSION[type.value.type] ?? expansion;
  }
  const advertised = services.has(v1.PluginCapability_Service_Type.CONTROLLER_SERVICE);
  // Every part of a driver reports what the whole can do; the part on a node serves less.
  const can = advertised ? await controllerCapabilities(client, options) : undefined;
  const controller = can !== undefined;
  return {
    name,
    version: vendorVersion,
    controller,
    controllerElsewhere: advertised && !controller,
    topology: services.has(v1.PluginCapability_Service_Type.VOLUME_ACCESSIBILITY_CONSTRAINTS),
    expansion,
    can: can ?? new Set(),
    groupSnapshots:
      controller &&
      services.has(v1.PluginCapability_Service_Type.GROUP_CONTROLLER_SERVICE) &&
      (await hasGroupSnapshots(client, options)),
    volumeGroups: controller ? await volumeGroupCapabilities(client, options) : new Set(),
    nodeExpansion: await hasNodeExpansion(client, options),
    ...(ofNode ? { runsOn: await whereItRuns(client, options) } : {}),
  };
}

async function whereItRuns(
  client: CsiClient,
  options: CallOptions,
): Promise<NonNullable<DriverInfo["runsOn"]>> {
  const { nodeId, accessibleTopology } = await client.node.nodeGetInfo({}, options);
  return { nodeId, segments: { ...accessibleTopology?.segments } };
}

const EXPANSION: Readonly<Record<number, DriverInfo["expansion"]>> = {
  [v1.PluginCapability_VolumeExpansion_Type.ONLINE]: "online",
  [v1.PluginCapability_VolumeExpansion_Type.OFFLINE]: "offline",
};

/** What the plugin has as a whole, an instance of it on a node need not serve. */
async function controllerCapabilities(
  client: CsiClient,
  options: CallOptions,
): Promise<Set<ControllerCapability> | undefined> {
  const response = await ifServed(() => client.controller.controllerGetCapabilities({}, options), undefined);
  if (response === undefined) return undefined;
  const { capabilities } = response;
  const names = capabilities.flatMap(({ type }) =>
    type.case === "rpc" ? [v1.ControllerServiceCapability_RPC_Type[type.value.type]] : [],
  );
  return new Set(
    names.filter((name) => name !== undefined && name !== "UNKNOWN"),
  ) as Set<ControllerCapability>;
}

async function hasGroupSnapshots(client: CsiClient, options: CallOptions): Promise<boolean> {
  const { capabilities } = await ifServed(
    () => client.groupController.groupControllerGetCapabilities({}, options),
    { capabilities: [] },
  );
  const { CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT: wanted } = v1.GroupControllerServiceCapability_RPC_Type;
  return capabilities.some(({ type }) => type.case === "rpc" && type.value.type === wanted);
}

/** The service of volume groups is announced by the add-ons' Identity alone: csi.v1 has no name for it. */
async function volumeGroupCapabilities(
  client: CsiClient,
  options: CallOptions,
): Promise<Set<VolumeGroupCapability>> {
  const { capabilities } = await ifServed(() => client.addonsIdentity.getCapabilities({}, options), {
    capabilities: [],
  });
  const names = capabilities.flatMap(({ type }) =>
    type.case === "volumeGroup" ? [addons.Capability_VolumeGroup_Type[type.value.type]] : [],
  );
  return new Set(
    names.filter((name) => name !== undefined && name !== "UNKNOWN"),
  ) as Set<VolumeGroupCapability>;
}

/** A socket of a controller plugin need not serve the Node service. */
async function hasNodeExpansion(client: CsiClient, options: CallOptions): Promise<boolean> {
  const { capabilities } = await ifServed(() => client.node.nodeGetCapabilities({}, options), {
    capabilities: [],
  });
  return capabilities.some(
    ({ type }) => type.case === "rpc" && type.value.type === v1.NodeServiceCapability_RPC_Type.EXPAND_VOLUME,
  );
}

async function ifServed<T, N>(call: () => Promise<T>, otherwise: N): Promise<T | N> {
  try {
    return await call();
  } catch (error) {
    if (callFailure(error).code === Code.UNIMPLEMENTED) return otherwise;
    throw error;
  }
}
