import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { after, before } from "node:test";
import type { Pod } from "@mooring/store";
import {
  assertNothingLeft,
  eventually,
  Pods,
  phase,
  pod,
  startTestCluster,
  type TestCluster,
} from "./test-cluster.ts";

type Spec = NonNullable<Pod["spec"]>;
type Container = Spec["containers"][number];

/** A pod of containers that run a script each: `main`, then `other1`, `other2`, ... */
export function withContainers(
  name: string,
  containers: (Partial<Container> & { script: string })[],
  spec: Partial<Spec> = {},
): Pod {
  return pod(name, "", {
    containers: containers.map(({ script, ...more }, index) => ({
      name: index === 0 ? "main" : `other${index}`,
      image: "host",
      command: ["sh", "-c", script],
      ...more,
    })),
    ...spec,
  });
}

/** The one cluster of a test file. */
export class ClusterOfFile {
  #cluster: TestCluster | undefined;
  #folder = "";

  /** To be called at the top of the file. */
  static open(): ClusterOfFile {
    const made = new ClusterOfFile();
    before(async () => {
      made.#folder = await mkdtemp("/tmp/mooring-pods-");
      made.#cluster = await startTestCluster(made.#folder);
    });
    after(async () => {
      await made.#cluster?.stop();
      await assertNothingLeft(made.#folder);
      await rm(made.#folder, { recursive: true });
    });
    return made;
  }

  get cluster(): TestCluster {
    return this.#cluster ?? assert.fail("the cluster is not there yet");
  }

  get folder(): string {
    return this.#folder;
  }

  /** Makes the pod; resolves with it in the phase in which it is to end. */
  async runToEnd(wanted: Pod, end = "Succeeded"): Promise<Pod> {
    const { store } = this.cluster;
    await store.create(Pods, wanted);
    return (await eventually(store, Pods, wanted.metadata.name, phase(end))) ?? assert.fail();
  }
}
