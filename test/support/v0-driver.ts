import { execFile } from "node:child_process";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  create,
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Server, ServerCredentials, type ServiceDefinition, status } from "@grpc/grpc-js";
import { v0 } from "@mooring/csi";

const run = promisify(execFile);
type Handler<M extends DescMethod> = (
  request: MessageShape<M["input"]>,
) => Promise<MessageInitShape<M["output"]>> | MessageInitShape<M["output"]>;
type Handlers<S extends DescService> = { [M in keyof S["method"]]?: Handler<S["method"][M]> };

/** A driver of 2018 with nothing but csi.v0, and nothing of ours but its messages: volumes are folders below `volumes`. */
export interface V0Driver {
  /** Names of the calls that came in, oldest first. */
  readonly calls: string[];
  stop(): Promise<void>;
}

export async function startV0Driver(
  socket: string,
  { name, nodeId, volumes }: { name: string; nodeId: string; volumes: string },
): Promise<V0Driver> {
  await mkdir(volumes, { recursive: true });
  const calls: string[] = [];
  const server = new Server();
  const add = <S extends DescService>(service: S, handlers: Handlers<S>) =>
    addService(server, service, handlers as Record<string, Handler<DescMethod>>, calls);
  add(v0.Identity, identity(name));
  add(v0.Controller, controller(volumes, nodeId));
  add(v0.Node, node(volumes, nodeId));
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    ),
  );
  return { calls, stop: () => new Promise((resolve) => server.tryShutdown(() => resolve())) };
}

function addService(
  server: Server,
  service: DescService,
  handlers: Readonly<Record<string, Handler<DescMethod>>>,
  calls: string[],
): void {
  const definition: Record<string, ServiceDefinition[string]> = {};
  const implementation: Record<string, (call: { request: Message }, done: Done) => void> = {};
  for (const method of service.methods) {
    const handler = handlers[method.localName];
    if (handler === undefined) continue;
    definition[method.localName] = {
      ...{ path: `/${service.typeName}/${method.name}`, requestStream: false, responseStream: false },
      requestSerialize: (message: Message) => Buffer.from(toBinary(method.input, message)),
      requestDeserialize: (bytes: Buffer) => fromBinary(method.input, bytes),
      responseSerialize: (message: Message) => Buffer.from(toBinary(method.output, message)),
      responseDeserialize: (bytes: Buffer) => fromBinary(method.output, bytes),
    };
    implementation[method.localName] = ({ request }, done) => {
      calls.push(method.name);
      Promise.resolve(request)
        .then(handler)
        .then((response) => done(null, create(method.output, response)))
        .catch((error: Error) => done({ code: status.INTERNAL, details: error.message }));
    };
  }
  server.addService(definition, implementation);
}

type Done = (error: { code: number; details: string } | null, response?: Message) => void;

function identity(name: string): Handlers<typeof v0.Identity> {
  return {
    getPluginInfo: () => ({ name, vendorVersion: "0.3" }),
    getPluginCapabilities: () => ({
      capabilities: [
        { type: { case: "service", value: { type: v0.PluginCapability_Service_Type.CONTROLLER_SERVICE } } },
      ],
    }),
    probe: () => ({}),
  };
}

function controller(volumes: string, onNode: string): Handlers<typeof v0.Controller> {
  const Type = v0.ControllerServiceCapability_RPC_Type;
  return {
    controllerGetCapabilities: () => ({
      capabilities: [Type.CREATE_DELETE_VOLUME, Type.PUBLISH_UNPUBLISH_VOLUME].map((type) => ({
        type: { case: "rpc", value: { type } },
      })),
    }),
    async createVolume({ name, capacityRange }) {
      await mkdir(join(volumes, name), { recursive: true });
      const capacityBytes = capacityRange?.requiredBytes ?? 0n;
      return { volume: { id: name, capacityBytes, attributes: { made: "in-2018" } } };
    },
    async deleteVolume({ volumeId }) {
      await rm(join(volumes, volumeId), { recursive: true, force: true });
      return {};
    },
    controllerPublishVolume({ nodeId }) {
      if (nodeId !== onNode) throw new Error(`there is no node ${nodeId}`);
      return { publishInfo: { lun: "7" } };
    },
    controllerUnpublishVolume: () => ({}),
  };
}

function node(volumes: string, nodeId: string): Handlers<typeof v0.Node> {
  return {
    nodeGetInfo: () => ({ nodeId }),
    nodeGetCapabilities: () => ({
      capabilities: [
        {
          type: { case: "rpc", value: { type: v0.NodeServiceCapability_RPC_Type.STAGE_UNSTAGE_VOLUME } },
        },
      ],
    }),
    async nodeStageVolume({ publishInfo, stagingTargetPath, volumeAttributes }) {
      if (publishInfo.lun !== "7" || volumeAttributes.made !== "in-2018")
        throw new Error("not as it was said");
      await stat(stagingTargetPath);
      return {};
    },
    nodeUnstageVolume: () => ({}),
    async nodePublishVolume({ volumeId, targetPath, readonly }) {
      // As the specification of that time has it: who calls has made it.
      if ((await readdir(targetPath)).length > 0) throw new Error(`${targetPath} is in use`);
      await run("mount", ["--bind", join(volumes, volumeId), targetPath]);
      if (readonly) await run("mount", ["-o", "remount,bind,ro", targetPath]);
      return {};
    },
    async nodeUnpublishVolume({ targetPath }) {
      await run("umount", [targetPath]);
      return {};
    },
  };
}
