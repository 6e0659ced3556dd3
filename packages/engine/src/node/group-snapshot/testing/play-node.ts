import { mutate, type ObjectStore } from "@mooring/store";
import { GroupSnapshots } from "../../../api/group-snapshot.ts";
import { MOORING_API_VERSION } from "../../../api/names.ts";
import { NodeAgents } from "../../../api/node-agent.ts";
import { Pools } from "../../../api/pool.ts";
import { Snapshots } from "../../../api/snapshot.ts";
import { Volumes } from "../../../api/volume.ts";
import { until, volumeObject } from "../../../testing/agent.ts";

const put = { subresource: "status" } as const;

/** A node without an agent: the test reports what its agent would. */
export async function playNode(
  store: ObjectStore,
  node: string,
  pool: string,
  volume: string,
): Promise<void> {
  const apiVersion = MOORING_API_VERSION;
  await store.create(NodeAgents, { apiVersion, kind: "NodeAgent", metadata: { name: node }, spec: {} });
  await mutate(
    store,
    NodeAgents,
    { name: node },
    { change: (a) => ({ ...a, status: { state: "Ready" as const } }), ...put },
  );
  const spec = { type: "xfs" as const, nodeID: node, path: "/nowhere" };
  await store.create(Pools, { apiVersion, kind: "Pool", metadata: { name: pool }, spec });
  await store.create(Volumes, volumeObject(volume, { pool }));
  const status = { state: "detached", ownerID: node, size: 4096 } as const;
  await mutate(store, Volumes, { name: volume }, { change: (v) => ({ ...v, status }), ...put });
}

/** Says for its agent that it has the volume, and is ready for the group's barrier. */
export async function playPrepared(
  store: ObjectStore,
  { node, volume, snapshot, group }: { node: string; volume: string; snapshot: string; group: string },
): Promise<void> {
  await until(store, Volumes, volume, (v) => v.spec.nodeID === node);
  const attached = { state: "attached", currentNodeID: node, ownerID: node, size: 4096 } as const;
  await mutate(store, Volumes, { name: volume }, { change: (v) => ({ ...v, status: attached }), ...put });
  const status = { readyToUse: false, ownerID: node };
  await mutate(store, Snapshots, { name: snapshot }, { change: (s) => ({ ...s, status }), ...put });
  await mutate(
    store,
    GroupSnapshots,
    { name: group },
    {
      change: (object) => {
        if (object.status?.nodes !== undefined) object.status.nodes[node] = { attempt: 1, phase: "prepared" };
      },
      ...put,
    },
  );
}
