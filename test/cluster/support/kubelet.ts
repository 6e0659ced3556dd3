import { access, readdir } from "node:fs/promises";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import { eventually } from "@mooring/store/testing";
import {
  InfoRequestSchema,
  type PluginInfo,
  PluginInfoSchema,
  RegistrationStatusResponseSchema,
  RegistrationStatusSchema,
} from "../../../packages/csi/src/gen/pluginregistration/v1/api_pb.ts";

/** The half of a kubelet that finds plugins: what it calls, on the sockets that it finds. */
export interface KubeletHalf {
  /** Waits for a socket in `plugins_registry` and asks who it is. */
  findPlugin(): Promise<PluginInfo>;
  /** Notifies the plugin that it is registered. */
  accept(): Promise<void>;
  socketIsThere(): Promise<boolean>;
  close(): void;
}

export async function kubeletAt(root: string): Promise<KubeletHalf> {
  const registry = join(root, "plugins_registry");
  const sockets = async () =>
    (await readdir(registry).catch(() => [])).filter((name) => name.endsWith(".sock"));
  let client: Client | undefined;
  const call = (method: string, request: Uint8Array): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      if (client === undefined) return reject(new Error("no plugin was found"));
      client.makeUnaryRequest(
        ...([`/pluginregistration.Registration/${method}`, Buffer.from, (bytes: Buffer) => bytes] as const),
        ...([Buffer.from(request), { deadline: Date.now() + 30_000 }] as const),
        (error: Error | null, response?: Buffer) =>
          error === null && response !== undefined
            ? resolve(response)
            : reject(error ?? new Error("no response")),
      );
    });
  return {
    findPlugin: async () => {
      const [name = ""] = await eventually("a plugin's socket", async () => {
        const found = await sockets();
        return found.length > 0 ? found : undefined;
      });
      client?.close();
      client = new Client(`unix:${join(registry, name)}`, credentials.createInsecure());
      const response = await call("GetInfo", toBinary(InfoRequestSchema, create(InfoRequestSchema)));
      const info = fromBinary(PluginInfoSchema, response);
      await access(info.endpoint);
      return info;
    },
    accept: async () => {
      const status = create(RegistrationStatusSchema, { pluginRegistered: true });
      fromBinary(
        RegistrationStatusResponseSchema,
        await call("NotifyRegistrationStatus", toBinary(RegistrationStatusSchema, status)),
      );
    },
    socketIsThere: async () => (await sockets()).length > 0,
    close: () => client?.close(),
  };
}
