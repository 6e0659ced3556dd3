// One volume, a node that serves it, a pod's mount on that node, and a client with a kernel of its own.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ShareManagers, sharePath } from "@mooring/engine";
import { eventually } from "@mooring/store/testing";
import { shareMountOptions } from "../../../packages/driver/src/node/share.ts";
import { command } from "../../nodes/support/command.ts";
import { ReportedNode } from "../../nodes/support/reported-node.ts";
import { Nodes } from "../../nodes/support/world.ts";
import { stints, WRITER } from "../../nodes/support/writer.ts";
import { type Command, Guest } from "../../support/guest/guest.ts";
import { machineRemains } from "../../support/remains.ts";

const MIB = 1n << 20n;
const SIZE = 320n * MIB;
const GROWN = 512n * MIB;
const RECORDS = 50;
const SERVER = "a";
const volumeCapability = {
  accessType: { case: "mount" as const, value: { fsType: "xfs" } },
  accessMode: { mode: 5 },
};

interface Scene {
  nodes: Nodes;
  guest: Guest;
  /** What the cluster knows of the guest: a node with its address. */
  agent: ReportedNode;
  /** Another node that uses the volume, so that it is served; nothing comes from there. */
  other: ReportedNode;
  volumeId: string;
  /** The pod's mount, on the node that serves. */
  pod: string;
}

async function publish(nodes: Nodes): Promise<Pick<Scene, "volumeId" | "pod">> {
  const controller = await nodes.controller();
  const { volume } = await controller.createVolume({
    name: "shared",
    capacityRange: { requiredBytes: SIZE, limitBytes: 0n },
    parameters: { pool: "common" },
    volumeCapabilities: [volumeCapability],
  });
  const volumeId = volume?.volumeId ?? "";
  await controller.controllerPublishVolume({ volumeId, nodeId: SERVER, volumeCapability });
  const stagingTargetPath = join(nodes.folder, "staged");
  const pod = join(nodes.folder, "pod");
  await nodes.machine(SERVER).run("mkdir", "-p", stagingTargetPath);
  const { node } = await nodes.machine(SERVER).csi();
  await eventually("the volume to be served", () =>
    node.nodeStageVolume({ volumeId, volumeCapability, stagingTargetPath }).catch((error: unknown) => {
      if (String(error).includes("not served yet")) return undefined;
      throw error;
    }),
  );
  await node.nodePublishVolume({ volumeId, volumeCapability, stagingTargetPath, targetPath: pod });
  return { volumeId, pod };
}

async function endpoint({ nodes, volumeId }: Scene) {
  return eventually("the share to run", async () => {
    const store = await nodes.store();
    const { status } = await store.get(ShareManagers, { name: volumeId });
    const [, address = "", port = "", path = ""] =
      /^nfs:\/\/(.+):(\d+)(\/.+)$/.exec(status?.endpoint ?? "") ?? [];
    return status?.state === "running" && address !== "" ? { address, port, path } : undefined;
  });
}

/** The process that serves. */
async function serverOf({ nodes, volumeId }: Scene): Promise<string> {
  const found = await nodes.machine(SERVER).run("pgrep", "-f", `ganesha.nfsd .*/${volumeId}/`);
  return found.trim();
}

/** The node's own mount of what it serves. */
function served({ nodes, volumeId }: Scene): string {
  return sharePath(nodes.machine(SERVER).stateDir, volumeId);
}

async function deviceOf(scene: Scene): Promise<string> {
  const device = await scene.nodes.machine(SERVER).run("findmnt", "-n", "-o", "SOURCE", served(scene));
  return device.trim();
}

/** Nobody else gets this device before the world ends. */
async function occupy({ nodes }: Scene, device: string): Promise<void> {
  const file = join(nodes.folder, "occupied");
  await command("truncate", "--size", "1M", file);
  await command("losetup", device, file);
}

/** The volume's size as its client's df has it. */
async function bytes({ guest }: Scene): Promise<bigint> {
  const [blocks = "", size = ""] = (await guest.run("stat -f -c '%b %S' /run/share")).split(" ");
  return BigInt(blocks) * BigInt(size);
}

/** Numbered records, each synced before it is acknowledged. */
async function write({ nodes, guest }: Scene, file: string): Promise<Command> {
  const program = join(nodes.folder, "writer.pl");
  await writeFile(program, WRITER);
  return guest.start(`exec perl ${program} /run/share/${file} guest 0.02`);
}

const acknowledged = ({ lines }: Command) => Number(lines.at(-1) ?? 0);

async function progress(writer: Command): Promise<void> {
  const goal = acknowledged(writer) + RECORDS;
  await eventually(`the guest's writer to get to ${goal}`, async () => {
    if (writer.code !== undefined) throw new Error(`the writer ended: ${writer.lines.slice(-3).join("; ")}`);
    return acknowledged(writer) >= goal;
  });
}

/** Stops the writer; all that it was promised is in the file that the serving node has. */
async function complete({ nodes, guest }: Scene, writer: Command, file: string): Promise<string> {
  await guest.run("pkill perl");
  await eventually("the writer to end", async () => writer.code !== undefined);
  const last = Number(writer.lines.filter((line) => /^\d+$/.test(line)).at(-1));
  const [stint, ...others] = stints(await nodes.machine(SERVER).run("cat", file));
  assert.deepEqual(others, []);
  assert.ok((stint?.last ?? 0) >= last && last > 0, `${last} acknowledged, ${stint?.last} there`);
  return `${last} records`;
}

/** How a node mounts the share. */
async function mountLine(scene: Scene): Promise<{ line: string; options: readonly string[] }> {
  const { address, port, path } = await endpoint(scene);
  const options = shareMountOptions(port);
  return { line: `mount -t nfs4 -o ${options.join()} ${address}:${path} /run/share`, options };
}

const CHECKS: Record<string, (scene: Scene) => Promise<string>> = {
  "a server comes with the first ticket of another node": async (scene) => {
    const { nodes, other, volumeId } = scene;
    const { status } = await (await nodes.store()).get(ShareManagers, { name: volumeId });
    assert.deepEqual([status?.state, status?.endpoint], ["running", undefined]);
    const controller = await nodes.controller();
    await controller.controllerPublishVolume({ volumeId, nodeId: other.name, volumeCapability });
    const { address, port } = await endpoint(scene);
    return `${address}:${port}`;
  },
  "the kernel of a node without a ticket finds no such export": async (scene) => {
    const { line } = await mountLine(scene);
    await scene.guest.run("modprobe -d /run/modules nfsv4");
    await assert.rejects(scene.guest.run(line), /No such file or directory/);
    return "No such file or directory";
  },
  "with a ticket it mounts the volume as nodes do": async (scene) => {
    const { nodes, agent, volumeId } = scene;
    const controller = await nodes.controller();
    await controller.controllerPublishVolume({ volumeId, nodeId: agent.name, volumeCapability });
    const { line, options } = await mountLine(scene);
    // The server learns of a new node while the node comes already.
    await eventually("the share to let the guest in", () =>
      scene.guest.run(line).catch((error: unknown) => {
        if (String(error).includes("No such file or directory")) return undefined;
        throw error;
      }),
    );
    const mounts = await scene.guest.run("grep /run/share /proc/mounts");
    const taken = mounts.split(" ")[3]?.split(",") ?? [];
    for (const option of options) assert.ok(taken.includes(option), `${option} in ${mounts}`);
    return options.join();
  },
  "what the client has synced is in the pod's file": async (scene) => {
    const writer = await write(scene, "from-client");
    await progress(writer);
    return complete(scene, writer, join(scene.pod, "from-client"));
  },
  "what the pod writes, the client reads at once": async ({ nodes, guest, pod }) => {
    const program = 'i=0; while [ $i -lt 1000 ]; do i=$((i+1)); echo "pod $i"; done >>"$1"';
    for (const last of [1000, 2000]) {
      await nodes.machine(SERVER).run("sh", "-c", program, "sh", join(pod, "from-pod"));
      assert.equal(await guest.run("wc -l </run/share/from-pod"), String(last));
    }
    const [first, second, ...others] = (await guest.run("md5sum </run/share/from-pod"))
      .concat("\n")
      .split("\n");
    assert.deepEqual([second, ...others], [""]);
    const there = await nodes.machine(SERVER).run("md5sum", join(pod, "from-pod"));
    assert.equal(first?.split(" ")[0], there.split(" ")[0]);
    return "2000 records";
  },
  "a killed server comes back, and the client's writer goes on without a hole": async (scene) => {
    const writer = await write(scene, "killed");
    await progress(writer);
    const before = await serverOf(scene);
    await scene.nodes.machine(SERVER).killWith(`${scene.volumeId}/ganesha.conf`);
    await progress(writer);
    const after = await serverOf(scene);
    assert.notEqual(after, before);
    return `${await complete(scene, writer, join(scene.pod, "killed"))}, process ${before}, then ${after}`;
  },
  "a node that lost its power serves again from another device, and the writer goes on": async (scene) => {
    const writer = await write(scene, "power");
    await progress(writer);
    const machine = scene.nodes.machine(SERVER);
    const before = await deviceOf(scene);
    await machine.losePower();
    await occupy(scene, before);
    await machine.start();
    await progress(writer);
    const after = await deviceOf(scene);
    assert.notEqual(after, before);
    return `${await complete(scene, writer, join(served(scene), "power"))}, ${before}, then ${after}`;
  },
  "the client sees the volume grow": async (scene) => {
    const before = await bytes(scene);
    assert.ok(before > SIZE / 2n && before <= SIZE, `${before} bytes`);
    const controller = await scene.nodes.controller();
    await controller.controllerExpandVolume({
      volumeId: scene.volumeId,
      capacityRange: { requiredBytes: GROWN, limitBytes: 0n },
      volumeCapability,
    });
    const after = await eventually("the client to see it", async () => {
      const now = await bytes(scene);
      return now > SIZE ? now : undefined;
    });
    return `${before / MIB} MiB, then ${after / MIB} MiB`;
  },
};

async function setScene(nodes: Nodes): Promise<Scene> {
  await nodes.join([SERVER]);
  const volume = await publish(nodes);
  const tap = await nodes.network.tap();
  const store = await nodes.store();
  const agent = await ReportedNode.start(store, "guest", tap.address);
  const other = await ReportedNode.start(store, "other", nodes.network.spare);
  const guest = await Guest.boot({ folder: nodes.folder, tap });
  return { nodes, guest, agent, other, ...volume };
}

async function endOf(scene: Scene | undefined): Promise<void> {
  await scene?.agent.stop();
  await scene?.other.stop();
  await scene?.guest.stop();
}

const say = (line: string) => process.stdout.write(`${line}\n`);
const nodes = await Nodes.create({ nodes: [], shared: true });
let passed = 0;
let failed = 0;
let scene: Scene | undefined;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, async () => {
    await endOf(scene);
    await nodes.dispose();
    process.exit(1);
  });
}
try {
  scene = await setScene(nodes);
  for (const [title, check] of Object.entries(CHECKS)) {
    const seen = await check(scene).catch((cause: unknown) => {
      throw new Error(title, { cause });
    });
    say(`ok   ${title} (${seen})`);
    passed++;
  }
} catch (error) {
  // Each check builds on those before it.
  failed++;
  const { message, cause } = error as Error;
  say(`FAIL ${message}${cause === undefined ? "" : `\n${cause}`}`);
  say(`--- the client's console:\n${scene?.guest.output.slice(-3000) ?? ""}`);
} finally {
  await endOf(scene);
  await nodes.dispose();
}
const left = await machineRemains(nodes.folder);
if (left.length > 0) {
  failed++;
  say(`FAIL nothing is left behind:\n${left.join("\n")}`);
} else {
  say("ok   nothing is left behind");
  passed++;
}
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
