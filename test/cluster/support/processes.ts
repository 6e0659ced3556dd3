import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@mooring/csi";
import { CSINodes, Nodes } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { cleanUp } from "../../../packages/driver/src/testing/world.ts";
import { host } from "../../csi/support/driver.ts";
import { MooringProcess, plainEnvironment } from "../../csi/support/process.ts";
import { nothingRemains } from "../../support/remains.ts";
import { sleepersSocket } from "../../support/sleepers.ts";
import { type ClusterServer, clusterServer } from "./cluster-server.ts";
import { kubeletAt } from "./kubelet.ts";
import { PATIENT } from "./patience.ts";

/** `mooring controller` and `mooring node` on a cluster's API server, each with its own rights, and a kubelet's half. */
export class ClusterProcesses {
  readonly server: ClusterServer;
  readonly node: string;
  readonly folder: string;
  readonly kubeletDir: string;
  readonly #processes: MooringProcess[] = [];

  private constructor(server: ClusterServer, node: string, folder: string) {
    this.server = server;
    this.node = node;
    this.folder = folder;
    this.kubeletDir = join(folder, "kubelet");
  }

  /** `node`: the name of the one that there will be. Nothing runs yet. */
  static async open(node: string): Promise<ClusterProcesses> {
    const server = await clusterServer();
    const made = new ClusterProcesses(server, node, await mkdtemp(join(tmpdir(), "mooring-cluster-")));
    await mkdir(made.kubeletDir);
    await server.store.create(Nodes, { apiVersion: "v1", kind: "Node", metadata: { name: node } });
    return made;
  }

  async close(): Promise<void> {
    for (const each of this.#processes) await each.end("SIGKILL");
    await cleanUp(host, this.folder);
    await rm(this.folder, { recursive: true, force: true });
    await this.server.stop();
    await nothingRemains(this.folder);
  }

  startController(): Promise<MooringProcess> {
    return this.#start(
      ...["mooring-controller", "controller", "--engine", "--leader-election", "--namespace", "mooring"],
    );
  }

  startNode(): Promise<MooringProcess> {
    return this.#start(
      ...["mooring-node", "node", "--kubelet-dir", this.kubeletDir, "--node-name", this.node],
      ...["--pool-size", "1Gi", "--state-dir", join(this.folder, "state")],
    );
  }

  async #start(account = "", ...args: string[]): Promise<MooringProcess> {
    const readyFile = join(this.folder, `${account}-ready`);
    await rm(readyFile, { force: true });
    const bound = account === "mooring-node" ? this.node : undefined;
    const kubeconfig = await this.server.accountKubeconfig(account, join(this.folder, account), bound);
    const child = new MooringProcess([...args, "--kubeconfig", kubeconfig, "--ready-file", readyFile], {
      ...plainEnvironment(),
      ...sleepersSocket(join(this.folder, `${account}.sleepers`)),
    });
    this.#processes.push(child);
    const isReady = async () => {
      assert.ok(child.alive, child.stderr);
      const content = await readFile(readyFile, "utf8").catch(() => "");
      return content !== "" && !content.includes('"leading":false');
    };
    await eventually(`${account} to be ready`, isReady, {
      ...PATIENT,
      lastSeen: () => child.stderr.slice(-3000),
    });
    return child;
  }

  /** What a kubelet does with a driver that it finds; `client` calls that one's node service. */
  async register(node: MooringProcess) {
    const kubelet = await kubeletAt(this.kubeletDir);
    const found = await kubelet.findPlugin();
    const client = await connect(`unix://${found.endpoint}`, { timeoutMs: 60_000 });
    const info = await client.node.nodeGetInfo({});
    await kubelet.accept();
    const isRegistered = () => /has registered the driver/.test(node.stderr);
    await eventually("the node to say that it is registered", isRegistered, PATIENT);
    const segments = Object.entries(info.accessibleTopology?.segments ?? {});
    await this.server.store.create(CSINodes, {
      ...{ apiVersion: "storage.k8s.io/v1", kind: "CSINode", metadata: { name: this.node } },
      spec: {
        drivers: [{ name: found.name, nodeID: info.nodeId, topologyKeys: segments.map(([key]) => key) }],
      },
    });
    const labels = segments.map(([key, value]) => `${key}=${value}`);
    await this.server.kubectl.run("label", "node", this.node, ...labels);
    return { kubelet, found, client };
  }

  /** Until a field is so; returns what it is. */
  shows(target: string[], path: string, wanted: string | RegExp): Promise<string> {
    const { kubectl } = this.server;
    return eventually(
      `${target.join(" ")} ${path} to be ${wanted}`,
      async () => {
        const seen = await kubectl.run("get", ...target, "-o", `jsonpath=${path}`);
        return (typeof wanted === "string" ? seen === wanted : wanted.test(seen)) ? seen : undefined;
      },
      {
        ...PATIENT,
        lastSeen: async () => ({
          object: await kubectl.run("get", ...target, "-o", "json"),
          processes: this.#processes.map(({ stderr }) => stderr.slice(-3_000)),
        }),
      },
    );
  }
}
