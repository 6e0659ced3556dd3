import {
  NodeAgents,
  Snapshots,
  startArbiter,
  type Volume,
  type VolumeAttachment,
  VolumeAttachments,
  type VolumeState,
  Volumes,
} from "@mooring/engine";
import { mutate, type ObjectMeta, silentLogger, waitFor, withTimeLimit } from "@mooring/store";
import { bundledCrds, installCrds } from "../../crd/install.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

const API = "storage.mooring.dev/v1alpha1";

/** An API server with our kinds, an arbiter, nodes a and b whose devices open at once, and the volume v-1 on both. */
export interface VolumeServer extends TestServer {
  until(
    predicate: (attachment: VolumeAttachment | undefined) => boolean,
    name?: string,
  ): Promise<VolumeAttachment | undefined>;
  volume(predicate: (volume: Volume) => boolean, name?: string): Promise<Volume>;
  createVolume(name: string, accessMode?: string, pool?: string): Promise<void>;
}

function object<S>(kind: string, name: string, spec: S) {
  return { apiVersion: API, kind, metadata: { name } as ObjectMeta, spec };
}

export async function startVolumeServer(): Promise<VolumeServer> {
  const server = await startTestServer();
  const { store, signal } = server;
  await installCrds(store, await bundledCrds());
  for (const name of ["a", "b"]) {
    const agent = await store.create(NodeAgents, object("NodeAgent", name, {}));
    await store.updateStatus(NodeAgents, { ...agent, status: { state: "Ready" } });
  }
  const arbiter = await startArbiter({ store, logger: silentLogger, kubernetes: true, signal });
  const agents = playAgents(server);
  const deadline = () => withTimeLimit(60_000);
  const createVolume = async (name: string, accessMode = "rwo", pool = "p") => {
    const spec = { size: 4096, pool, volumeMode: "Block" as const, accessMode };
    const made = await store.create(Volumes, object("Volume", name, spec));
    await store.updateStatus(Volumes, { ...made, status: { state: "detached" } });
  };
  await createVolume("v-1");
  return {
    ...server,
    createVolume,
    until: (predicate, name = "v-1") =>
      waitFor(store, { resource: VolumeAttachments, key: { name } }, predicate, deadline()),
    async volume(predicate, name = "v-1") {
      const found = await waitFor(
        store,
        { resource: Volumes, key: { name } },
        (v) => v !== undefined && predicate(v),
        deadline(),
      );
      if (found === undefined) throw new Error(`no volume ${name}`);
      return found;
    },
    async stop() {
      for (const { metadata } of (await store.list(Snapshots)).items)
        await store.delete(Snapshots, { name: metadata.name });
      await server.stop();
      await Promise.all([arbiter.done, agents]);
    },
  };
}

/** Does for all nodes what their agents do: the wish of the spec comes true in the status. */
async function playAgents({ store, signal }: TestServer): Promise<void> {
  const changes = store.watch(Volumes, { signal });
  try {
    for await (const { type, object: volume } of changes) {
      if (type === "DELETED" || type === "BOOKMARK" || volume.status === undefined) continue;
      const wanted = volume.spec.nodeID ?? "";
      if ((volume.status.currentNodeID ?? "") === wanted) continue;
      const state: VolumeState = wanted === "" ? "detached" : "attached";
      await mutate(
        store,
        Volumes,
        { name: volume.metadata.name },
        {
          change: (present) => ({
            ...present,
            status: { ...present.status, state, currentNodeID: wanted, device: wanted && "/dev/loop0" },
          }),
          subresource: "status",
          signal,
        },
      ).catch(() => {});
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
