import assert from "node:assert/strict";
import { test } from "node:test";
import { type CsiClient, v1 } from "@mooring/csi";
import { covers, everyday, sample } from "@mooring/store/testing";
import { prepareDriver } from "./support/driver.ts";
import { startTwoNodes } from "./support/two-nodes.ts";
import { codeOf } from "./support/volumes.ts";

/** What a client gets, by name, in alphabetical order; a code where the service is not served. */
interface ErrorReport {
  plugin: readonly string[];
  controller: readonly string[] | string;
  group: readonly string[] | string;
  node: readonly string[] | string;
  /** GetMetadataAllocated of a snapshot that is not there. */
  metadata: string;
}

const PLUGIN = [
  "service CONTROLLER_SERVICE",
  "service GROUP_CONTROLLER_SERVICE",
  "service SNAPSHOT_ACCESSIBILITY_CONSTRAINTS",
  "service SNAPSHOT_METADATA_SERVICE",
  "service VOLUME_ACCESSIBILITY_CONSTRAINTS",
  "volumeExpansion ONLINE",
];
const CONTROLLER = [
  "CLONE_VOLUME",
  "CREATE_DELETE_SNAPSHOT",
  "CREATE_DELETE_VOLUME",
  "EXPAND_VOLUME",
  "GET_CAPACITY",
  "GET_SNAPSHOT",
  "GET_VOLUME",
  "GET_VOLUME_HEALTH",
  "LIST_SNAPSHOTS",
  "LIST_VOLUMES",
  "LIST_VOLUMES_PUBLISHED_NODES",
  "LIST_VOLUME_HEALTH",
  "MODIFY_VOLUME",
  "PUBLISH_READONLY",
  "PUBLISH_UNPUBLISH_VOLUME",
  "SINGLE_NODE_MULTI_WRITER",
  "VOLUME_CONDITION",
];
const GROUP = ["CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT"];
const NODE = [
  "EXPAND_VOLUME",
  "GET_STORAGE_HEALTH",
  "GET_VOLUME_HEALTH",
  "GET_VOLUME_STATS",
  "SINGLE_NODE_MULTI_WRITER",
  "STAGE_UNSTAGE_VOLUME",
  "VOLUME_CONDITION",
];
const NONE = "UNIMPLEMENTED";

const REPORTED: Readonly<
  Record<"all" | "controller" | "node" | "cluster controller" | "cluster node", ErrorReport>
> = {
  all: { plugin: PLUGIN, controller: CONTROLLER, group: GROUP, node: NODE, metadata: "NOT_FOUND" },
  controller: { plugin: PLUGIN, controller: CONTROLLER, group: GROUP, node: NONE, metadata: "NOT_FOUND" },
  node: {
    plugin: ["service VOLUME_ACCESSIBILITY_CONSTRAINTS"],
    ...{ controller: NONE, group: NONE, node: NODE, metadata: NONE },
  },
  // Parts of one plugin, which reports the same everywhere.
  "cluster controller": {
    plugin: PLUGIN,
    ...{ controller: CONTROLLER, group: GROUP, node: NONE, metadata: "NOT_FOUND" },
  },
  "cluster node": { plugin: PLUGIN, controller: NONE, group: NONE, node: NODE, metadata: "NOT_FOUND" },
};

interface Typed {
  type: { case?: string | undefined; value?: { type: number } | undefined };
}
type Names = Readonly<Record<number, string>>;

/** The names in the response, or the code of the refusal. */
async function named(call: Promise<{ capabilities: readonly Typed[] }>, names: Names) {
  const { capabilities } = await call.catch((error: { codeName?: string }) => ({ capabilities: error }));
  if (!Array.isArray(capabilities)) return (capabilities as { codeName?: string }).codeName ?? "";
  return (capabilities as readonly Typed[]).map(({ type }) => names[type.value?.type ?? -1] ?? "").sort();
}

async function reported({
  identity,
  controller,
  groupController,
  node,
  snapshotMetadata,
}: CsiClient): Promise<ErrorReport> {
  const { capabilities } = await identity.getPluginCapabilities({});
  const plugin = capabilities.map(({ type }) => {
    const names: Names =
      type.case === "service" ? v1.PluginCapability_Service_Type : v1.PluginCapability_VolumeExpansion_Type;
    return `${type.case} ${names[type.value?.type ?? -1]}`;
  });
  const allocated = async () => {
    for await (const _ of snapshotMetadata.getMetadataAllocated({ snapshotId: "s-none" }));
  };
  return {
    plugin: plugin.sort(),
    controller: await named(
      controller.controllerGetCapabilities({}),
      v1.ControllerServiceCapability_RPC_Type,
    ),
    group: await named(
      groupController.groupControllerGetCapabilities({}),
      v1.GroupControllerServiceCapability_RPC_Type,
    ),
    node: await named(node.nodeGetCapabilities({}), v1.NodeServiceCapability_RPC_Type),
    metadata: await codeOf(allocated()),
  };
}

for (const mode of sample(["all", "controller", "node"] as const, { everyday: 1 })) {
  test(`mode ${mode} announces what it serves, and nothing else`, async () => {
    covers("CSI-048", "CSI-197");
    const driver = await prepareDriver({ mode, pool: "directory" });
    try {
      await driver.start();
      assert.deepEqual(await reported(driver.client), REPORTED[mode]);
    } finally {
      await driver.dispose();
    }
  });
}

test(
  "the parts of a plugin with several processes announce the whole, and serve their own",
  everyday(),
  async () => {
    covers("CSI-048", "CSI-049");
    const cluster = await startTwoNodes();
    assert.deepEqual(await reported(cluster.controller), REPORTED["cluster controller"]);
    assert.deepEqual(await reported(cluster.nodes["node-2"]), REPORTED["cluster node"]);
  },
);
