import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { type ShareManager, ShareManagers } from "@mooring/engine";
import { covers, eventually, everyday, inItsTurn } from "@mooring/store/testing";
import { pairOfNodes } from "./support/pair.ts";
import type { Nodes } from "./support/world.ts";

const capability = {
  accessType: { case: "mount" as const, value: { fsType: "xfs" } },
  accessMode: { mode: 5 },
};

describe("a volume that many nodes use", () => {
  let nodes: Nodes;
  before(async () => {
    nodes = await pairOfNodes();
  });

  const create = async (name: string) => {
    const controller = await nodes.controller();
    const { volume } = await controller.createVolume({
      name,
      capacityRange: { requiredBytes: 320n << 20n, limitBytes: 0n },
      parameters: { pool: "common" },
      volumeCapabilities: [capability],
    });
    return volume?.volumeId ?? "";
  };
  const publish = async (volumeId: string, nodeId: string) => {
    const controller = await nodes.controller();
    await controller.controllerPublishVolume({ volumeId, nodeId, volumeCapability: capability });
  };
  const unpublish = async (volumeId: string, nodeId: string) => {
    const controller = await nodes.controller();
    await controller.controllerUnpublishVolume({ volumeId, nodeId });
  };
  const served = (name: string, test: (share: ShareManager) => boolean) =>
    eventually("the share", async () => {
      const store = await nodes.store();
      const share = await store.get(ShareManagers, { name });
      return share.status?.state === "running" && test(share) ? share : undefined;
    });
  /** With a client that needs no kernel, in that machine's own network. */
  const url = ({ status }: ShareManager, file: string) => {
    const [, address, port, path] = /^nfs:\/\/(.+):(\d+)(\/.+)$/.exec(status?.endpoint ?? "") ?? [];
    return `nfs://${address}${path}/${file}?version=4&nfsport=${port}`;
  };
  const patiently = (machine: string, program: string, ...args: string[]) =>
    nodes
      .machine(machine)
      .run("timeout", "90", "sh", "-c", 'until "$@"; do sleep 0.5; done', "sh", program, ...args);

  test("what one node writes another one reads, through the node that serves both", everyday(), async () => {
    covers("LHA-058", "LHA-060");
    const id = await create("both");
    await publish(id, "a");
    // Whoever has no ticket is not let in, although it reaches the server.
    const alone = await served(id, ({ spec }) => spec.users?.join() === "a");
    const untrusted = () => nodes.machine("b").run("nfs-cat", url(alone, "f"));
    await patiently("a", "nfs-ls", url(alone, ""));
    await assert.rejects(untrusted(), /mount_cb: NFS4.*NFS4ERR_(?:NOENT|ACCESS)/);
    await publish(id, "b");
    const share = await served(id, ({ spec }) => spec.users?.join() === "a,b");
    const from = join(nodes.shared, "from");
    await nodes.machine("a").run("sh", "-c", `echo written by a > ${from}`);
    await patiently("a", "nfs-cp", from, url(share, "f"));
    assert.match(await patiently("b", "nfs-cat", url(share, "f")), /written by a/);
    if (!(await readFile("/proc/filesystems", "utf8")).includes("nfs4")) {
      // The serving node has the file system itself; the other one learns where to go.
      const server = share.status?.nodeID ?? "";
      const staged = async (machine: string) => {
        const stagingTargetPath = join(nodes.folder, `${machine}-${id}`);
        await nodes.machine(machine).run("mkdir", "-p", stagingTargetPath);
        const { node } = await nodes.machine(machine).csi();
        await node.nodeStageVolume({ volumeId: id, volumeCapability: capability, stagingTargetPath });
        return { node, stagingTargetPath };
      };
      const { node, stagingTargetPath } = await staged(server);
      assert.match(await nodes.machine(server).run("cat", join(stagingTargetPath, "f")), /written by a/);
      await node.nodeUnstageVolume({ volumeId: id, stagingTargetPath });
      await assert.rejects(staged(server === "a" ? "b" : "a"), /cannot mount NFS/);
    }
    await unpublish(id, "b");
    await eventually("the one without a ticket to be shut out", () =>
      untrusted().then(
        () => false,
        (error: Error) => /NFS4ERR_(?:NOENT|ACCESS)/.test(error.message),
      ),
    );
    assert.match(await patiently("a", "nfs-cat", url(share, "f")), /written by a/);
    await publish(id, "b");
    await unpublish(id, "a");
    await served(id, ({ spec }) => spec.users?.join() === "b");
    assert.match(await patiently("b", "nfs-cat", url(share, "f")), /written by a/);
    await unpublish(id, "b");
    const controller = await nodes.controller();
    await controller.deleteVolume({ volumeId: id });
  });

  test(
    "a node that dies while it serves is replaced when it is fenced, with everything that was written",
    inItsTurn(),
    async () => {
      const id = await create("moves");
      await publish(id, "a");
      await publish(id, "b");
      const first = await served(id, () => true);
      const server = first.status?.nodeID ?? "";
      const other = server === "a" ? "b" : "a";
      const from = join(nodes.shared, "from");
      await nodes.machine(other).run("sh", "-c", `echo before the power loss > ${from}`);
      await patiently(other, "nfs-cp", from, url(first, "f"));
      await nodes.machine(server).losePower();
      const next = await served(id, ({ status }) => status?.nodeID === other);
      assert.match(await patiently(other, "nfs-cat", url(next, "f")), /before the power loss/);
      await unpublish(id, server);
      await unpublish(id, other);
      const controller = await nodes.controller();
      await controller.deleteVolume({ volumeId: id });
    },
  );
});
