import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { after, test } from "node:test";
import { type CsiClient, connect } from "@mooring/csi";
import { TOPOLOGY_NODE_KEY } from "@mooring/engine";
import { covers, eventually, everyday, thorough } from "@mooring/store/testing";
import { cleanUp } from "../../packages/driver/src/testing/world.ts";
import { nothingRemains } from "../support/remains.ts";
import { sleepersSocket } from "../support/sleepers.ts";
import { Up } from "../support/up.ts";
import { host } from "./support/driver.ts";
import { gate } from "./support/gate.ts";
import { MooringProcess, plainEnvironment } from "./support/process.ts";
import { capability, fails, MIB } from "./support/volumes.ts";

const CONTROL = "control";
const WORKER = "worker";

const up = await Up.create({ pool: "directory", nodeName: CONTROL });
const processes: MooringProcess[] = [];
after(async () => {
  for (const process of processes) await process.end("SIGKILL");
  await cleanUp(host, join(up.stateDir, "worker"));
  await up.dispose();
  await nothingRemains(up.stateDir);
});
await up.start();

function start(args: readonly string[], socket: string, env: NodeJS.ProcessEnv = {}): MooringProcess {
  const CSI_ENDPOINT = `unix://${join(up.stateDir, socket)}`;
  const asked = sleepersSocket(join(up.stateDir, `${socket}.sleepers`));
  const child = new MooringProcess(args, { ...plainEnvironment(), ...env, ...asked, CSI_ENDPOINT });
  processes.push(child);
  return child;
}

const driver = (mode: string, stateDir: string, node = WORKER, kubeconfig = up.kubeconfig) =>
  ["driver", "--mode", mode, "--kubeconfig", kubeconfig, "--node-id", node].concat([
    ...["--state-dir", join(up.stateDir, stateDir), "--pool-size", "2Gi"],
  ]);

interface Part {
  process: MooringProcess;
  client: CsiClient;
}

/** A controller process and a node process, which has `env`, with nothing in common but the API server. */
async function startParts(
  env: NodeJS.ProcessEnv = {},
): Promise<{ controller: Part; node: Part; stop(): Promise<void> }> {
  const begin = async (mode: "controller" | "node"): Promise<Part> => {
    const process = start(driver(mode, "worker"), `${mode}.sock`, mode === "node" ? env : {});
    const endpoint = `unix://${join(up.stateDir, `${mode}.sock`)}`;
    const client = await connect(endpoint, { timeoutMs: 60_000, readyTimeoutMs: 60_000 }).catch(
      (cause: unknown) => {
        throw new Error(process.stderr, { cause });
      },
    );
    return { process, client };
  };
  const node = await begin("node");
  const controller = await begin("controller");
  const stop = async () => {
    for (const { client, process } of [controller, node]) {
      client.close();
      await process.atRest();
      assert.equal(await process.end(), 0, process.stderr);
    }
  };
  return { controller, node, stop };
}

/** KiB, of the device that is mounted there. */
async function readAheadAt(path: string): Promise<string> {
  const [mount] = await host.mounts.at(path);
  return (await readFile(`/sys/block/${basename(mount?.source ?? "")}/queue/read_ahead_kb`, "utf8")).trim();
}

test(
  "a controller and a node process on one API server serve one volume; its data survives both",
  everyday(),
  async () => {
    covers("CSI-007", "CSI-334", "CSI-335");
    const staging = join(up.stateDir, "staging");
    const target = join(up.stateDir, "target");
    await mkdir(staging);
    const create = {
      ...{ name: "shared", capacityRange: { requiredBytes: 64n * MIB } },
      ...{ volumeCapabilities: [capability({ fsType: "ext4" })] },
      accessibilityRequirements: { requisite: [{ segments: { [TOPOLOGY_NODE_KEY]: WORKER } }] },
    };
    /** The whole way to a mounted folder, the work in it, and the whole way back. */
    const use = async (
      { controller, node }: Awaited<ReturnType<typeof startParts>>,
      work: (volumeId: string) => Promise<void>,
    ) => {
      const { volume } = await controller.client.controller.createVolume(create);
      const volumeId = volume?.volumeId ?? "";
      const volumeCapability = capability({ fsType: "ext4" });
      const published = await controller.client.controller.controllerPublishVolume({
        ...{ volumeId, nodeId: (await node.client.node.nodeGetInfo({})).nodeId, volumeCapability },
      });
      const { publishContext } = published;
      const at = { volumeId, stagingTargetPath: staging, volumeCapability, publishContext };
      await node.client.node.nodeStageVolume(at);
      await node.client.node.nodePublishVolume({ ...at, targetPath: target });
      await work(volumeId);
      await node.client.node.nodeUnpublishVolume({ volumeId, targetPath: target });
      await node.client.node.nodeUnstageVolume({ volumeId, stagingTargetPath: staging });
      await controller.client.controller.controllerUnpublishVolume({ volumeId, nodeId: WORKER });
      return volumeId;
    };
    const first = await startParts();
    const id = await use(first, async (volumeId) => {
      await writeFile(join(target, "file"), "kept");
      // The controller has no device: the node takes it up from the record.
      const mutableParameters = { readAheadKiB: "2048" };
      await first.controller.client.controller.controllerModifyVolume({ volumeId, mutableParameters });
      await eventually(
        "the device to read further ahead",
        async () => (await readAheadAt(target)) === "2048",
      );
    });
    await first.stop();
    const second = await startParts();
    const same = await use(second, async () =>
      assert.equal(await readFile(join(target, "file"), "utf8"), "kept"),
    );
    assert.equal(same, id);
    const capabilities = await Promise.all(
      [second.controller, second.node].map(({ client }) => client.identity.getPluginCapabilities({})),
    );
    assert.deepEqual(capabilities[0], capabilities[1], "one plugin, whatever each process serves");
    await second.controller.client.controller.deleteVolume({ volumeId: id });
    await fails("NOT_FOUND", second.controller.client.controller.controllerGetVolume({ volumeId: id }));
    await second.stop();
  },
);

test(
  "parameters that change while a volume is being staged are in effect once it is staged",
  everyday(),
  async () => {
    const folder = join(up.stateDir, "gate");
    await mkdir(folder);
    // Volumes with xfs are staged at once, one with ext4 waits for its file system.
    const mkfs = await gate(folder, "mkfs.ext4", "mke2fs");
    const { controller, node, stop } = await startParts({ PATH: mkfs.path });
    const attached = async (name: string, fsType: string) => {
      const volumeCapability = capability({ fsType });
      const { volume } = await controller.client.controller.createVolume({
        ...{ name, capacityRange: { requiredBytes: 320n * MIB }, volumeCapabilities: [volumeCapability] },
        accessibilityRequirements: { requisite: [{ segments: { [TOPOLOGY_NODE_KEY]: WORKER } }] },
      });
      const at = { volumeId: volume?.volumeId ?? "", volumeCapability };
      const { publishContext } = await controller.client.controller.controllerPublishVolume({
        ...{ ...at, nodeId: WORKER },
      });
      const stagingTargetPath = join(up.stateDir, name);
      await mkdir(stagingTargetPath);
      return { ...at, publishContext, stagingTargetPath };
    };
    const modify = ({ volumeId }: { volumeId: string }, mutableParameters: Record<string, string>) =>
      controller.client.controller.controllerModifyVolume({ volumeId, mutableParameters });
    const [slow, other] = [await attached("slow", "ext4"), await attached("other", "xfs")];
    await node.client.node.nodeStageVolume(other);
    const staging = node.client.node.nodeStageVolume(slow);
    await mkfs.reached();
    await modify(slow, { discard: "true" });
    await modify(other, { readAheadKiB: "512" });
    // By then the node has seen the change before it as well.
    await eventually(
      "the other device to read further ahead",
      async () => (await readAheadAt(other.stagingTargetPath)) === "512",
    );
    await mkfs.open();
    await staging;
    await eventually("the file system to give free blocks back", async () => {
      const [mount] = await host.mounts.at(slow.stagingTargetPath);
      return mount?.superOptions.includes("discard") === true;
    });
    for (const { volumeId, stagingTargetPath } of [slow, other]) {
      await node.client.node.nodeUnstageVolume({ volumeId, stagingTargetPath });
      await controller.client.controller.controllerUnpublishVolume({ volumeId, nodeId: WORKER });
      await controller.client.controller.deleteVolume({ volumeId });
    }
    await stop();
  },
);

test(
  "one agent runs for a node: a second one, of whatever command, ends with 3 and reports it",
  thorough(),
  async () => {
    const parts = await startParts();
    const node = (name: string) =>
      ["node", "--kubeconfig", up.kubeconfig, "--node-name", name, "--pool", "directory"].concat([
        "--state-dir",
        join(up.stateDir, "other"),
      ]);
    const takenNode = /another agent runs for node[\s\S]*next: /;
    const takenFolder = /is in use by process \d+[\s\S]*next: stop that process \(kill \d+\)/;
    const cases: readonly [string, readonly string[], RegExp][] = [
      ["the same state folder", driver("node", "worker"), takenFolder],
      ["another state folder", driver("all", "other"), takenNode],
      ["the node of mooring up", driver("node", "other", CONTROL), takenNode],
      ["the state folder of mooring up", driver("node", ".", "third"), takenFolder],
      ["mooring node", node(WORKER), takenNode],
    ];
    for (const [what, args, expected] of cases) {
      const second = start(args, "second.sock");
      assert.equal(await second.ended(), 3, `${what}: ${second.stderr}`);
      assert.match(second.stderr, expected, what);
    }
    assert.ok(parts.node.process.alive && up.alive);
    await parts.stop();
  },
);

test(
  "an API server that is not there, or no kubeconfig, ends it at once with what to do",
  everyday(),
  async () => {
    covers("CSI-336");
    const unreachable = join(up.stateDir, "unreachable");
    const text = await readFile(up.kubeconfig, "utf8");
    await writeFile(unreachable, text.replace(/server: \S+/, "server: https://127.0.0.1:1"));
    const cases: readonly [string[], number, RegExp][] = [
      [
        driver("node", "x", WORKER, join(up.stateDir, "missing")),
        2,
        /missing, which does not exist[\s\S]*next: /,
      ],
      [driver("node", "x", WORKER, unreachable), 4, /does not respond[\s\S]*next: /],
      [driver("node", "x", "Worker_1"), 2, /Worker_1[\s\S]*next: /],
    ];
    for (const [args, code, expected] of cases) {
      const child = start(args, "x.sock");
      assert.equal(await child.ended(), code, child.stderr);
      assert.match(child.stderr, expected);
    }
  },
);
