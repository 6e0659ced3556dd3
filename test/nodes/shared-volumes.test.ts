import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { Code, type CsiError } from "@mooring/csi";
import { type ShareManager, ShareManagers } from "@mooring/engine";
import { covers, eventually, everyday, thorough } from "@mooring/store/testing";
import { command } from "./support/command.ts";
import { pairOfNodes } from "./support/pair.ts";
import { ReportedNode } from "./support/reported-node.ts";
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

  /** Mounts the volume on a machine; the serving one has it at hand. */
  const stage = async (machine: string, volumeId: string) => {
    const path = join(nodes.folder, `${machine}-${volumeId}`);
    await nodes.machine(machine).run("mkdir", "-p", path);
    const { node } = await nodes.machine(machine).csi();
    await node.nodeStageVolume({ volumeId, volumeCapability: capability, stagingTargetPath: path });
    return { path, unstage: () => node.nodeUnstageVolume({ volumeId, stagingTargetPath: path }) };
  };
  const isServedTo = (users: string) => (share: ShareManager) =>
    share.spec.users?.join() === users && share.status?.endpoint !== undefined;

  test("what one node writes another one reads, through the node that serves both", everyday(), async () => {
    covers("LHA-058", "LHA-060");
    const id = await create("both");
    await publish(id, "a");
    const alone = await served(id, ({ spec }) => spec.users?.join() === "a");
    assert.equal(alone.status?.endpoint, undefined, "no server before a second node needs it");
    const a = await stage("a", id);
    await nodes.machine("a").run("sh", "-c", `echo written by a > ${join(a.path, "f")}`);
    await publish(id, "b");
    const share = await served(id, isServedTo("a,b"));
    assert.match(await patiently("b", "nfs-cat", url(share, "f")), /written by a/);
    const from = join(nodes.shared, "from");
    await nodes.machine("b").run("sh", "-c", `echo written by b > ${from}`);
    await patiently("b", "nfs-cp", from, url(share, "g"));
    assert.match(await nodes.machine("a").run("cat", join(a.path, "g")), /written by b/);
    // A client without a ticket is not let in, although it reaches the server: a container on its own machine, for one.
    const local = () => nodes.machine("a").run("nfs-cat", url(share, "f"));
    await assert.rejects(local(), /mount_cb: NFS4.*NFS4ERR_(?:NOENT|ACCESS)/);
    if (!(await readFile("/proc/filesystems", "utf8")).includes("nfs4"))
      await assert.rejects(stage("b", id), /cannot mount NFS/);
    await unpublish(id, "b");
    await served(id, ({ status }) => status?.endpoint === undefined);
    await assert.rejects(nodes.machine("b").run("nfs-cat", url(share, "f")), "there is no server any more");
    assert.match(await nodes.machine("a").run("cat", join(a.path, "f")), /written by a/);
    await publish(id, "b");
    await a.unstage();
    await unpublish(id, "a");
    const others = await served(id, isServedTo("b"));
    assert.match(await patiently("b", "nfs-cat", url(others, "f")), /written by a/);
    await unpublish(id, "b");
    const controller = await nodes.controller();
    await controller.deleteVolume({ volumeId: id });
  });

  test(
    "a node in a network that nobody has named as trusted is refused, and so is whoever is there",
    thorough(),
    async () => {
      const id = await create("outside");
      const seat = await nodes.network.seat({ outside: true });
      const outsider = await ReportedNode.start(await nodes.store(), "outsider", seat.address);
      try {
        await publish(id, "a");
        const why = new RegExp(`"outsider" at ${seat.address} .* --trusted-network`);
        await assert.rejects(publish(id, "outsider"), (error: CsiError) => {
          assert.equal(error.code, Code.FAILED_PRECONDITION);
          assert.match(error.message, why);
          return true;
        });
        await served(id, ({ status }) => status?.endpoint === undefined);
        await publish(id, "b");
        const share = await served(id, isServedTo("a,b"));
        const outside = ["netns", "exec", seat.namespace, "timeout", "20", "nfs-ls", url(share, "")];
        await assert.rejects(command("ip", ...outside), /mount_cb: NFS4.*NFS4ERR_(?:NOENT|ACCESS)/);
        await patiently("b", "nfs-ls", url(share, ""));
      } finally {
        for (const node of ["b", "a"]) await unpublish(id, node);
        await outsider.stop();
      }
      const controller = await nodes.controller();
      await controller.deleteVolume({ volumeId: id });
    },
  );

  test(
    "a node that dies while it serves is replaced when it is fenced, with everything that was written",
    thorough(),
    async () => {
      const id = await create("moves");
      await publish(id, "a");
      await publish(id, "b");
      const first = await served(id, isServedTo("a,b"));
      const server = first.status?.nodeID ?? "";
      const other = server === "a" ? "b" : "a";
      const from = join(nodes.shared, "from");
      await nodes.machine(other).run("sh", "-c", `echo before the power loss > ${from}`);
      await patiently(other, "nfs-cp", from, url(first, "f"));
      await nodes.machine(server).losePower();
      await served(id, ({ status }) => status?.nodeID === other);
      const { path, unstage } = await stage(other, id);
      assert.match(await nodes.machine(other).run("cat", join(path, "f")), /before the power loss/);
      await unstage();
      await unpublish(id, server);
      await unpublish(id, other);
      const controller = await nodes.controller();
      await controller.deleteVolume({ volumeId: id });
    },
  );
});
