import { execFile } from "node:child_process";
import { mkdir, readFile, rm, rmdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { CsiError, createServer, type Services, v1 } from "@mooring/csi";

const run = promisify(execFile);

export const TEST_DRIVER = "dir.test.mooring.dev";

export interface DirectoryDriver {
  readonly endpoint: string;
  /** Calls of the node and controller service so far, as `NodeStageVolume ID`. */
  readonly calls: string[];
  /** Throw from here to let a call fail. */
  before: (call: string, request: object) => void;
  /** How many calls for the volume there were at the same time, at most. */
  mostInFlight(volumeId: string): number;
  stop(): Promise<void>;
}

/**
 * A CSI driver whose volumes are folders: staging and publishing are bind mounts. It must be asked to attach, and
 * refuses to stage what is not. One that does not stage makes the volumes of single pods as well.
 */
export async function startDirectoryDriver(
  folder: string,
  nodeID: string,
  { stages = true }: { stages?: boolean } = {},
): Promise<DirectoryDriver> {
  const volumes = join(folder, "volumes");
  const attached = join(folder, "attached");
  await mkdir(volumes, { recursive: true });
  await mkdir(attached, { recursive: true });
  const calls: string[] = [];
  const driver = { before: (_call: string, _request: object) => {} };
  const note = (call: string, request: { volumeId?: string }) => {
    calls.push(`${call} ${request.volumeId ?? ""}`.trim());
    driver.before(call, request);
  };

  const services: Services = {
    identity: {
      getPluginInfo: () => ({ name: TEST_DRIVER, vendorVersion: "1" }),
      getPluginCapabilities: () => ({
        capabilities: [pluginService(v1.PluginCapability_Service_Type.CONTROLLER_SERVICE)],
      }),
      probe: () => ({ ready: true }),
    },
    controller: {
      controllerGetCapabilities: () => {
        const { ControllerServiceCapability_RPC_Type: Type } = v1;
        const types = [Type.CREATE_DELETE_VOLUME, Type.PUBLISH_UNPUBLISH_VOLUME, Type.EXPAND_VOLUME];
        return { capabilities: types.map((type) => ({ type: { case: "rpc" as const, value: { type } } })) };
      },
      async createVolume(request) {
        await mkdir(join(volumes, request.name), { recursive: true });
        return {
          volume: { volumeId: request.name, capacityBytes: request.capacityRange?.requiredBytes ?? 0n },
        };
      },
      async deleteVolume(request) {
        note("DeleteVolume", request);
        await rm(join(volumes, request.volumeId), { recursive: true, force: true });
        return {};
      },
      async controllerPublishVolume(request) {
        note("ControllerPublishVolume", request);
        await writeFile(join(attached, request.volumeId), "");
        return { publishContext: { ticket: `for-${request.volumeId}` } };
      },
      async controllerUnpublishVolume(request) {
        note("ControllerUnpublishVolume", request);
        await rm(join(attached, request.volumeId), { force: true });
        return {};
      },
      async controllerExpandVolume(request) {
        return { capacityBytes: request.capacityRange?.requiredBytes ?? 0n, nodeExpansionRequired: true };
      },
    },
    node: {
      nodeGetInfo: () => ({ nodeId: nodeID }),
      nodeGetCapabilities: () => {
        const { NodeServiceCapability_RPC_Type: Type } = v1;
        const types = [...(stages ? [Type.STAGE_UNSTAGE_VOLUME] : []), Type.EXPAND_VOLUME];
        return { capabilities: types.map((type) => ({ type: { case: "rpc" as const, value: { type } } })) };
      },
      async nodeStageVolume(request) {
        note("NodeStageVolume", request);
        const ticket = await readFile(join(attached, request.volumeId)).catch(() => undefined);
        if (ticket === undefined) throw CsiError.failedPrecondition(`${request.volumeId} is not attached`);
        if (request.publishContext.ticket !== `for-${request.volumeId}`)
          throw CsiError.invalidArgument("no ticket");
        if (request.volumeCapability?.accessType.case === "block")
          await loopDevice(join(volumes, request.volumeId));
        else await bind(join(volumes, request.volumeId), request.stagingTargetPath, false);
        return {};
      },
      async nodeUnstageVolume(request) {
        note("NodeUnstageVolume", request);
        await unbind(request.stagingTargetPath);
        await detachLoops(join(volumes, request.volumeId));
        return {};
      },
      async nodePublishVolume(request) {
        note("NodePublishVolume", request);
        if (request.volumeCapability?.accessType.case === "block") {
          await writeFile(request.targetPath, "", { flag: "a" });
          await bind(await loopDevice(join(volumes, request.volumeId)), request.targetPath, false);
          return {};
        }
        await mkdir(request.targetPath, { recursive: true });
        const isInline = request.volumeContext["csi.storage.k8s.io/ephemeral"] === "true";
        const source = stages ? request.stagingTargetPath : join(volumes, request.volumeId);
        if (isInline) await mkdir(source, { recursive: true });
        await bind(source, request.targetPath, request.readonly);
        return {};
      },
      async nodeUnpublishVolume(request) {
        note("NodeUnpublishVolume", request);
        await unbind(request.targetPath);
        if (request.volumeId.startsWith("csi-"))
          await rm(join(volumes, request.volumeId), { recursive: true, force: true });
        await rmdir(request.targetPath).catch(() => rm(request.targetPath, { force: true }));
        return {};
      },
      async nodeExpandVolume(request) {
        note("NodeExpandVolume", request);
        return { capacityBytes: request.capacityRange?.requiredBytes ?? 0n };
      },
    },
  };
  if (!stages) {
    delete services.node?.nodeStageVolume;
    delete services.node?.nodeUnstageVolume;
  }
  const endpoint = `unix://${join(folder, "csi.sock")}`;
  const [flying, most] = [new Map<string, number>(), new Map<string, number>()];
  const server = createServer(services, {
    endpoint,
    interceptors: [
      (next) => async (call) => {
        const { volumeId = "" } = call.request as { volumeId?: string };
        flying.set(volumeId, (flying.get(volumeId) ?? 0) + 1);
        most.set(volumeId, Math.max(most.get(volumeId) ?? 0, flying.get(volumeId) ?? 0));
        try {
          return await next(call);
        } finally {
          flying.set(volumeId, (flying.get(volumeId) ?? 0) - 1);
        }
      },
    ],
  });
  await server.start();
  return Object.assign(driver, {
    endpoint,
    calls,
    mostInFlight: (id: string) => most.get(id) ?? 0,
    stop: () => server.stop(1000),
  });
}

function pluginService(type: v1.PluginCapability_Service_Type) {
  return { type: { case: "service" as const, value: { type } } };
}

/** The loop device of the volume's image. */
async function loopDevice(volume: string): Promise<string> {
  const image = join(volume, "image");
  await writeFile(image, "", { flag: "a" });
  await truncate(image, 16 * 1024 * 1024);
  const { stdout } = await run("losetup", ["--associated", image, "--noheadings", "--output", "NAME"]);
  if (stdout.trim() !== "") return stdout.trim().split("\n")[0] ?? "";
  return (await run("losetup", ["--find", "--show", image])).stdout.trim();
}

async function detachLoops(volume: string): Promise<void> {
  const { stdout } = await run("losetup", [
    "--associated",
    join(volume, "image"),
    "--noheadings",
    "--output",
    "NAME",
  ]);
  for (const name of stdout.split("\n").filter(Boolean)) await run("losetup", ["--detach", name]);
}

async function isMounted(target: string): Promise<boolean> {
  const info = await readFile("/proc/self/mountinfo", "utf8");
  return info.split("\n").some((line) => line.split(" ")[4] === target);
}

async function bind(source: string, target: string, readOnly: boolean): Promise<void> {
  if (await isMounted(target)) return;
  await run("mount", ["--bind", source, target]);
  if (readOnly) await run("mount", ["-o", "remount,bind,ro", target]);
}

async function unbind(target: string): Promise<void> {
  if (await isMounted(target)) await run("umount", [target]);
}
