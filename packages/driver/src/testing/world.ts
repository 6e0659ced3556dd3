import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CsiClient, type CsiError, connect, v1 } from "@mooring/csi";
import { createHost, type Host, type LoopDevice, type PoolType } from "@mooring/engine";
import type { Logger, ObjectStore } from "@mooring/store";
import { defined } from "@mooring/store";
import { endAtRest } from "@mooring/store/testing";
import { serveDriver } from "../serve.ts";

const GIB = 1024 ** 3;
const { VolumeCapability_AccessMode_Mode: Mode } = v1;

/** A running driver with a pool of its own, a client, and a folder for mounts. */
export interface World {
  client: CsiClient;
  host: Host;
  folder: string;
  nodeID: string;
  /** A path below the folder whose parent exists. */
  path(name: string): string;
  /**
   * The device of a volume of this driver: volumes of one name have one id, and another driver on this machine may have
   * made one too.
   */
  loopOf(volumeId: string): Promise<LoopDevice | undefined>;
  /** Everything that was logged so far. */
  log(): string;
  /** Stops the driver and starts it again on the same state. */
  restart(): Promise<void>;
  /** Stops it and removes every mount, loop device and file; throws when something slept through its event. */
  end(): Promise<void>;
}

export interface WorldOptions {
  pool?: PoolType;
  /** Asked again at every start. */
  overcommit?: () => number | undefined;
  maxVolumesPerNode?: number;
  cgroupRoot?: string;
  keepGroupVolumes?: boolean;
  /** Objects for which the test runs the arbiter; default: a store and an arbiter of the driver's own. */
  store?: ObjectStore;
}

const limits = (overcommit: number | undefined) => defined({ overcommit });

/** Starts a driver as `mooring driver` does, in this process. Needs root. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  if (process.getuid?.() !== 0) throw new Error("this test mounts real volumes: run it as root");
  const { pool = "xfs", overcommit = () => undefined, ...rest } = options;
  const folder = await mkdtemp(join(tmpdir(), "mooring-driver-"));
  const host = createHost();
  const endpoint = `unix://${join(folder, "csi.sock")}`;
  const nodeID = "node-1";
  let log = "";
  const line = (fields: object, message: string): void => {
    log += `${JSON.stringify(fields, (_, v) => (typeof v === "bigint" ? String(v) : v))} ${message}\n`;
  };
  const logger: Logger = { debug: line, info: line, warn: line, error: line, child: () => logger };
  const start = async () => {
    const stop = new AbortController();
    const serving = await serveDriver({
      ...rest,
      ...{ endpoint, mode: "all", nodeID, logger, signal: stop.signal, strictResponses: true },
      stateDir: join(folder, "state"),
      pool: {
        type: pool,
        ...(pool === "directory" ? {} : { size: 8 * GIB }),
        ...limits(overcommit()),
      },
    });
    return async () => {
      stop.abort();
      await serving.done;
    };
  };
  await mkdir(join(folder, "mounts"));
  let stop = await start();
  const client = await connect(endpoint, { timeoutMs: 30_000 });
  return {
    ...{ client, host, folder, nodeID },
    path: (name) => join(folder, "mounts", name),
    loopOf: async (volumeId) =>
      (await host.loops.list()).find(
        ({ backingFile }) => backingFile.startsWith(`${folder}/`) && backingFile.endsWith(`/${volumeId}.img`),
      ),
    log: () => log,
    restart: async () => {
      await stop();
      stop = await start();
    },
    end: () =>
      endAtRest(async () => {
        client.close();
        await stop();
        await cleanUp(host, folder);
      }),
  };
}

/** Whatever a test left behind below the folder. Mounts keep devices busy and devices mounts: from the outside in. */
export async function cleanUp(host: Host, folder: string): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const mounts = (await host.mounts.list()).filter(({ target }) => target.startsWith(folder)).reverse();
    const loops = (await host.loops.list()).filter(({ backingFile }) => backingFile.startsWith(folder));
    if (mounts.length + loops.length === 0) break;
    for (const { target } of mounts) await host.exec.try("umount", [target]);
    for (const loop of loops) await host.loops.detach(loop).catch(() => {});
  }
  await rm(folder, { recursive: true, force: true });
}

export interface CapabilityChoice {
  access?: "mount" | "block";
  mode?: keyof typeof Mode;
  fsType?: string;
  mountFlags?: string[];
}

/** A VolumeCapability as the client takes it. */
export type CapabilityInit = NonNullable<
  Parameters<CsiClient["node"]["nodeStageVolume"]>[0]["volumeCapability"]
>;

export function capability(choice: CapabilityChoice = {}): CapabilityInit {
  const { access = "mount", mode = "SINGLE_NODE_WRITER", fsType = "", mountFlags = [] } = choice;
  const accessType: CapabilityInit["accessType"] =
    access === "block"
      ? { case: "block" as const, value: {} }
      : { case: "mount" as const, value: { fsType, mountFlags } };
  return { accessType, accessMode: { mode: Mode[mode] } };
}

export const MIB = 1024n ** 2n;

/** Creates a volume and hands back its id. */
export async function createVolume(
  { client }: Pick<World, "client">,
  name: string,
  { size = 320n * MIB, ...choice }: CapabilityChoice & { size?: bigint } = {},
): Promise<string> {
  const { volume } = await client.controller.createVolume({
    name,
    capacityRange: { requiredBytes: size },
    volumeCapabilities: [capability(choice)],
  });
  return volume?.volumeId ?? "";
}

/** Publishes to the node and stages; returns how to undo both. */
export async function stage(
  world: World,
  volumeId: string,
  choice: CapabilityChoice = {},
  name = `stage-${volumeId}`,
): Promise<{ path: string; undo(): Promise<void> }> {
  const { client, nodeID } = world;
  const path = world.path(name);
  const volumeCapability = capability(choice);
  await mkdir(path, { recursive: true });
  await client.controller.controllerPublishVolume({ volumeId, nodeId: nodeID, volumeCapability });
  await client.node.nodeStageVolume({ volumeId, stagingTargetPath: path, volumeCapability });
  const undo = async () => {
    await client.node.nodeUnstageVolume({ volumeId, stagingTargetPath: path });
    await client.controller.controllerUnpublishVolume({ volumeId, nodeId: nodeID });
  };
  return { path, undo };
}

/** The code's name of a call that must fail. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    return (error as { codeName?: string }).codeName ?? String(error);
  }
  return "OK";
}

/** Code and message of a call that must fail. */
export async function failureOf(
  call: Promise<unknown>,
): Promise<{ code: string; message: string; reason?: string }> {
  try {
    await call;
  } catch (error) {
    const { codeName: code = String(error), message, reason } = error as Error & Partial<CsiError>;
    return { code, message, ...defined({ reason }) };
  }
  return { code: "OK", message: "" };
}
