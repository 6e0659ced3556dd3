import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  isNotFound,
  Nodes as KubeNodes,
  type Node,
  PersistentVolumeClaims,
  type Pod,
  Pods,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { pod } from "../../support/manifests.ts";
import type { Nodes } from "./world.ts";
import { WRITER } from "./writer.ts";

const NAMESPACE = "default";
/** What a writer acknowledges; it prints its error otherwise. */
const NUMBER = /^\d+$/;
/** Pods of tests leave a silent machine at once, not after five minutes. */
const IMPATIENT = ["not-ready", "unreachable"].map((word) => ({
  ...{ key: `node.kubernetes.io/${word}`, operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 },
}));

/** A pod on one machine that stamps what it writes into its claim, and prints in its log what is safe there. */
export class PodWriter {
  readonly name: string;
  readonly node: string;
  readonly claim: string;
  readonly #nodes: Nodes;
  #uid = "";

  private constructor(nodes: Nodes, name: string, node: string, claim: string) {
    this.#nodes = nodes;
    this.name = name;
    this.node = node;
    this.claim = claim;
  }

  static async create(nodes: Nodes, name: string, node: string, claim: string): Promise<PodWriter> {
    const writer = new PodWriter(nodes, name, node, claim);
    const plain = pod(NAMESPACE, name, "", { mounts: { "/data": claim } });
    const [container] = plain.spec?.containers ?? [];
    const command = ["perl", "-e", WRITER, "/data/log", node, "0.02"];
    const store = await nodes.store();
    const created = await store.create(Pods, {
      ...plain,
      spec: {
        ...plain.spec,
        containers: [{ ...container, name: "main", command }],
        nodeSelector: { "kubernetes.io/hostname": node },
        tolerations: IMPATIENT,
      },
    } as Pod);
    writer.#uid = created.metadata.uid ?? "";
    return writer;
  }

  /** Undefined when its object is gone. */
  async object(): Promise<Pod | undefined> {
    const store = await this.#nodes.store();
    const found = await store.get(Pods, { namespace: NAMESPACE, name: this.name }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    return found?.metadata.uid === this.#uid ? found : undefined;
  }

  /** The highest number whose write was acknowledged; read from the machine's disk, which outlives the machine. */
  async acknowledged(): Promise<number> {
    return Number((await this.#printed()).findLast((line) => NUMBER.test(line)) ?? 0);
  }

  async #printed(): Promise<string[]> {
    const folder = `${NAMESPACE}_${this.name}_${this.#uid}`;
    const file = join(this.#kubelet, "logs/pods", folder, "main/0.log");
    const log = await readFile(file, "utf8").catch(() => "");
    return log.split("\n").slice(0, -1);
  }

  get #kubelet(): string {
    return join(this.#nodes.folder, this.node, "kubelet");
  }

  /** Resolves when so many more writes are acknowledged; fails at once when the writer has failed, with what it said. */
  async progress(more: number): Promise<void> {
    const goal = (await this.acknowledged()) + more;
    const reached = async () => {
      const words = (await this.#printed()).find((line) => !NUMBER.test(line));
      return words ?? ((await this.acknowledged()) >= goal ? "reached" : undefined);
    };
    const result = await eventually(`pod ${this.name} to get to ${goal}`, reached, { withinMs: 240_000 });
    assert.equal(result, "reached", `the writer of pod ${this.name} has failed`);
  }

  /** Everything in the file, as this pod sees it. */
  async content(): Promise<string> {
    const store = await this.#nodes.store();
    const { spec } = await store.get(PersistentVolumeClaims, { namespace: NAMESPACE, name: this.claim });
    const volume = join("volumes/kubernetes.io~csi", spec?.volumeName ?? "", "mount/log");
    return this.#nodes.machine(this.node).run("cat", join(this.#kubelet, "pods", this.#uid, volume));
  }

  async remove(): Promise<void> {
    const store = await this.#nodes.store();
    await store.delete(Pods, { namespace: NAMESPACE, name: this.name }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    await this.gone();
  }

  async gone(): Promise<void> {
    await eventually(`pod ${this.name} to be gone`, async () => (await this.object()) === undefined, {
      withinMs: 240_000,
    });
  }
}

export function condition(node: Node, type: string): string | undefined {
  return (node.status?.conditions ?? []).find((each) => each.type === type)?.status;
}

export function taintsOf(node: Node): string[] {
  return (node.spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
}

export async function nodeIs(nodes: Nodes, name: string, ready: string): Promise<Node> {
  const store = await nodes.store();
  return eventually(`Ready of node ${name} to be ${ready}`, async () => {
    const node = await store.get(KubeNodes, { name });
    return condition(node, "Ready") === ready ? node : undefined;
  });
}
