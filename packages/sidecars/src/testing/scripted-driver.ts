import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CsiError, createServer, v1 } from "@mooring/csi";
import { defined } from "@mooring/store";
import type { ControllerCapability, DriverInfo } from "../csi/driver-info.ts";
import { Backend, type BackendGroup, type BackendSnapshot, type BackendVolume } from "./backend.ts";
import { FaultPlan } from "./faults.ts";
import { DRIVER } from "./objects.ts";
import { VolumeGroupBackend, type VolumeGroupMethod, volumeGroupService } from "./volume-groups.ts";

const EVERYTHING: ControllerCapability[] = [
  "CREATE_DELETE_VOLUME",
  "PUBLISH_UNPUBLISH_VOLUME",
  "CREATE_DELETE_SNAPSHOT",
  "LIST_SNAPSHOTS",
  "CLONE_VOLUME",
  "EXPAND_VOLUME",
  "GET_CAPACITY",
];

export interface ScriptedDriverOptions {
  name?: string;
  can?: ControllerCapability[];
  topology?: boolean;
  expansion?: DriverInfo["expansion"];
  /** Whether an expansion to this size needs the node as well. */
  nodeExpansion?: boolean | ((bytes: bigint) => boolean);
  /** What NodeGetInfo returns. */
  nodeId?: string;
  maxVolumes?: number;
  segments?: Record<string, string>;
  /** Where new volumes can be reached; absent: where the request prefers. */
  place?: (request: v1.CreateVolumeRequest) => Record<string, string>[];
  /** Number in the id of the first object that it makes; default 1. */
  firstId?: number;
  /** Polls until a new snapshot is ready. */
  snapshotPolls?: number;
  /** Serves GroupController. */
  groups?: boolean;
  /** Serves volumegroup.Controller, and what of it besides creating and deleting. */
  volumeGroups?: readonly VolumeGroupMethod[];
}

/** A group snapshot in a response. */
export interface WireGroup {
  groupSnapshotId: string;
  snapshots: (ReturnType<typeof wireSnapshot> & { groupSnapshotId: string })[];
  readyToUse: boolean;
  creationTime?: { seconds: bigint; nanos: number };
}

/**
 * A CSI driver in front of a storage system in memory, on a real socket. It logs its calls, checks what the
 * specification lets it check, and goes wrong exactly as it is set up.
 */
export class ScriptedDriver {
  readonly backend: Backend;
  readonly volumeGroups = new VolumeGroupBackend();
  /** Entries on a page of ListVolumeGroups. */
  pageSize = 1_000;
  readonly faults = new FaultPlan();
  /** Every call that came in. */
  readonly calls: { method: string; request: object }[] = [];
  readonly endpoint: string;
  /** What GetCapacity returns. */
  availableBytes: (segments: Record<string, string>) => bigint = () => 10n * 1024n ** 3n;
  ready = true;
  /** Serves GroupController, from the next `listen` on. */
  groups: boolean;
  /** What of a response about a group is not as it should be. */
  changeGroup: (group: WireGroup) => WireGroup = (group) => group;
  snapshotPolls: number;
  readonly #folder: string;
  readonly #options: ScriptedDriverOptions;
  /** Logs a call and lets it go as the plan of faults wants. */
  readonly #on =
    <Q extends object, A>(method: string, operation: (request: Q) => A) =>
    (request: Q, context: { signal: AbortSignal }): Promise<A> => {
      this.calls.push({ method, request });
      return this.faults.play(method, request, context.signal, () => operation(request));
    };
  #server: ReturnType<typeof createServer> | undefined;

  private constructor(folder: string, options: ScriptedDriverOptions) {
    this.#folder = folder;
    this.#options = options;
    this.backend = new Backend(options.firstId);
    this.snapshotPolls = options.snapshotPolls ?? 0;
    this.groups = options.groups ?? false;
    this.endpoint = `unix://${join(folder, "csi.sock")}`;
  }

  static async start(options: ScriptedDriverOptions = {}): Promise<ScriptedDriver> {
    const driver = new ScriptedDriver(await mkdtemp(join(tmpdir(), "mooring-driver-")), options);
    await driver.listen();
    return driver;
  }

  async listen(): Promise<void> {
    this.#server = createServer(this.#services(), { endpoint: this.endpoint });
    await this.#server.start();
  }

  /** Stops serving; the storage system keeps its state for the next `listen`. */
  async pause(): Promise<void> {
    await this.#server?.stop(0);
    this.#server = undefined;
  }

  async stop(): Promise<void> {
    await this.pause();
    await rm(this.#folder, { recursive: true, force: true });
  }

  called(method: string): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  #services(): Parameters<typeof createServer>[0] {
    const on = this.#on;
    return {
      ...(this.groups ? { groupController: this.#groupController() } : {}),
      ...(this.#options.volumeGroups === undefined
        ? {}
        : {
            volumeGroup: volumeGroupService(
              this.volumeGroups,
              this.#options.volumeGroups,
              on,
              () => this.pageSize,
            ),
          }),
      identity: {
        getPluginInfo: () => ({ name: this.#options.name ?? DRIVER, vendorVersion: "1.0" }),
        getPluginCapabilities: () => ({ capabilities: this.#pluginCapabilities() }),
        probe: on("Probe", () => ({ ready: this.ready })),
      },
      controller: {
        controllerGetCapabilities: () => ({ capabilities: this.#controllerCapabilities() }),
        createVolume: on("CreateVolume", (request: v1.CreateVolumeRequest) => this.#createVolume(request)),
        deleteVolume: on("DeleteVolume", ({ volumeId }: v1.DeleteVolumeRequest) => {
          this.backend.deleteVolume(volumeId);
          return {};
        }),
        controllerPublishVolume: on(
          "ControllerPublishVolume",
          (request: v1.ControllerPublishVolumeRequest) => {
            this.backend.volume(request.volumeId).publishedTo.add(request.nodeId);
            return { publishContext: { device: `/dev/${request.volumeId}` } };
          },
        ),
        controllerUnpublishVolume: on(
          "ControllerUnpublishVolume",
          (request: v1.ControllerUnpublishVolumeRequest) => {
            this.backend.volumes.get(request.volumeId)?.publishedTo.delete(request.nodeId);
            return {};
          },
        ),
        controllerExpandVolume: on("ControllerExpandVolume", (request: v1.ControllerExpandVolumeRequest) => {
          const volume = this.backend.volume(request.volumeId);
          const bytes = request.capacityRange?.requiredBytes ?? 0n;
          if (bytes > volume.bytes) volume.bytes = bytes;
          return { capacityBytes: volume.bytes, nodeExpansionRequired: this.#needsNode(volume.bytes) };
        }),
        controllerModifyVolume: on("ControllerModifyVolume", (request: v1.ControllerModifyVolumeRequest) => {
          const volume = this.backend.volume(request.volumeId);
          volume.attributes = { ...volume.attributes, ...request.mutableParameters };
          return {};
        }),
        createSnapshot: on("CreateSnapshot", ({ name, sourceVolumeId }: v1.CreateSnapshotRequest) => ({
          snapshot: wireSnapshot(this.backend.createSnapshot(name, sourceVolumeId, this.snapshotPolls)),
        })),
        deleteSnapshot: on("DeleteSnapshot", ({ snapshotId }: v1.DeleteSnapshotRequest) => {
          this.backend.deleteSnapshot(snapshotId);
          return {};
        }),
        listSnapshots: on("ListSnapshots", ({ snapshotId }: v1.ListSnapshotsRequest) => {
          const found = [...this.backend.snapshots.values()].filter(
            ({ id }) => !snapshotId || id === snapshotId,
          );
          return { entries: found.map((snapshot) => ({ snapshot: wireSnapshot(snapshot) })) };
        }),
        listVolumes: on("ListVolumes", () => ({
          entries: [...this.backend.volumes.values()].map(wireEntry),
        })),
        controllerGetVolume: on("ControllerGetVolume", ({ volumeId }: v1.ControllerGetVolumeRequest) =>
          wireEntry(this.backend.volume(volumeId)),
        ),
        getCapacity: on("GetCapacity", ({ accessibleTopology }: v1.GetCapacityRequest) => ({
          availableCapacity: this.availableBytes(accessibleTopology?.segments ?? {}),
        })),
      },
      node: {
        nodeGetCapabilities: () => ({ capabilities: this.#nodeCapabilities() }),
        nodeGetInfo: on("NodeGetInfo", () => ({
          nodeId: this.#options.nodeId ?? "node-id",
          maxVolumesPerNode: BigInt(this.#options.maxVolumes ?? 0),
          ...(this.#options.segments === undefined
            ? {}
            : { accessibleTopology: { segments: this.#options.segments } }),
        })),
      },
    };
  }

  #groupController() {
    const wire = (group: BackendGroup) => ({
      groupSnapshot: this.changeGroup({
        groupSnapshotId: group.id,
        snapshots: this.backend
          .membersOf(group)
          .map((member) => ({ ...wireSnapshot(member), groupSnapshotId: group.id })),
        readyToUse: this.backend.membersOf(group).every(({ pendingPolls }) => pendingPolls === 0),
        creationTime: { seconds: 1_700_000_000n, nanos: 0 },
      }),
    });
    const type = v1.GroupControllerServiceCapability_RPC_Type.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT;
    return {
      groupControllerGetCapabilities: () => ({
        capabilities: [{ type: { case: "rpc" as const, value: { type } } }],
      }),
      createVolumeGroupSnapshot: this.#on(
        "CreateVolumeGroupSnapshot",
        ({ name, sourceVolumeIds }: v1.CreateVolumeGroupSnapshotRequest) =>
          wire(this.backend.createGroup(name, sourceVolumeIds, this.snapshotPolls)),
      ),
      getVolumeGroupSnapshot: this.#on(
        "GetVolumeGroupSnapshot",
        ({ groupSnapshotId, snapshotIds }: v1.GetVolumeGroupSnapshotRequest) =>
          wire(this.backend.readGroup(groupSnapshotId, snapshotIds)),
      ),
      deleteVolumeGroupSnapshot: this.#on(
        "DeleteVolumeGroupSnapshot",
        ({ groupSnapshotId, snapshotIds }: v1.DeleteVolumeGroupSnapshotRequest) => {
          this.backend.deleteGroup(groupSnapshotId, snapshotIds);
          return {};
        },
      ),
    };
  }

  #createVolume(request: v1.CreateVolumeRequest) {
    const { accessibilityRequirements, capacityRange, name, volumeContentSource } = request;
    const { secrets: _secrets, $typeName: _type, $unknown: _unknown, ...stable } = request;
    const fingerprint = JSON.stringify(stable, (_, value) =>
      typeof value === "bigint" ? String(value) : value,
    );
    const [preferred] = accessibilityRequirements?.preferred ?? [];
    const source = volumeContentSource?.type;
    if (source?.case === "snapshot" && !this.backend.snapshots.has(source.value.snapshotId))
      throw CsiError.notFound(`snapshot ${source.value.snapshotId} does not exist`);
    if (source?.case === "volume") this.backend.volume(source.value.volumeId);
    const volume = this.backend.createVolume({
      name,
      bytes: capacityRange?.requiredBytes ?? 0n,
      fingerprint,
      topology:
        this.#options.place?.(request) ?? (preferred === undefined ? [] : [{ ...preferred.segments }]),
    });
    return {
      volume: {
        volumeId: volume.id,
        capacityBytes: volume.bytes,
        volumeContext: { made: "here" },
        accessibleTopology: volume.topology.map((segments) => ({ segments })),
        ...defined({ contentSource: volumeContentSource }),
      },
    };
  }

  #pluginCapabilities() {
    const { Type } = { Type: v1.PluginCapability_Service_Type };
    const { expansion = "online", topology = false } = this.#options;
    const services = [
      Type.CONTROLLER_SERVICE,
      ...(topology ? [Type.VOLUME_ACCESSIBILITY_CONSTRAINTS] : []),
      ...(this.groups ? [Type.GROUP_CONTROLLER_SERVICE] : []),
    ];
    const expansions = { online: [1], offline: [2], none: [] }[expansion];
    return [
      ...services.map((type) => ({ type: { case: "service" as const, value: { type } } })),
      ...expansions.map((type) => ({ type: { case: "volumeExpansion" as const, value: { type } } })),
    ];
  }

  #controllerCapabilities() {
    return (this.#options.can ?? EVERYTHING).map((name) => ({
      type: { case: "rpc" as const, value: { type: v1.ControllerServiceCapability_RPC_Type[name] } },
    }));
  }

  #needsNode(bytes: bigint): boolean {
    const { nodeExpansion = false } = this.#options;
    return typeof nodeExpansion === "boolean" ? nodeExpansion : nodeExpansion(bytes);
  }

  #nodeCapabilities() {
    const type = v1.NodeServiceCapability_RPC_Type.EXPAND_VOLUME;
    return this.#options.nodeExpansion !== undefined
      ? [{ type: { case: "rpc" as const, value: { type } } }]
      : [];
  }
}

function wireSnapshot({ id, volumeId, bytes, pendingPolls }: BackendSnapshot) {
  return {
    snapshotId: id,
    sourceVolumeId: volumeId,
    sizeBytes: bytes,
    readyToUse: pendingPolls === 0,
    creationTime: { seconds: 1_700_000_000n, nanos: 0 },
  };
}

function wireEntry({ id, bytes, publishedTo, abnormal }: BackendVolume) {
  return {
    volume: { volumeId: id, capacityBytes: bytes },
    status: {
      publishedNodeIds: [...publishedTo],
      volumeCondition: { abnormal: abnormal !== undefined, message: abnormal ?? "" },
    },
  };
}
