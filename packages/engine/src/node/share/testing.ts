import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { apiVersionOf, defined, mutate } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { type NodeAgent, NodeAgents } from "../../api/node-agent.ts";
import { type ShareManager, ShareManagers } from "../../api/share-manager.ts";
import type { VolumeSpec } from "../../api/volume.ts";
import { Bench, type BenchOptions, until } from "../../testing/agent.ts";
import { MIB } from "../../testing/scratch.ts";
import { type ShareLayout, shareLayout } from "./layout.ts";
import { findPlace } from "./place.ts";
import { findServers } from "./server.ts";

/** The shared volume of a test. */
export const NAME = "v-p-1";
export const XFS = { accessMode: "rwx", fsType: "xfs", size: 320 * MIB } as const;

/** Another node, whose address programs of this machine have. */
export const OTHER = "another-node";

/** A volume that workloads on this node and on another one use, and its share running. */
export async function served(
  t: TestContext,
  spec: Partial<VolumeSpec> = XFS,
  rbd?: BenchOptions["rbd"],
): Promise<Bench> {
  const bench = await Bench.open(t, rbd === undefined ? "xfs" : "rbd", {
    tickets: true,
    ...defined({ rbd }),
  });
  const [address = "127.0.0.1"] = (await findPlace()).addresses;
  await addOther(bench, address);
  await bench.createVolume(NAME, spec);
  await bench.volume(NAME, "detached");
  await bench.ask(NAME);
  await bench.ask(NAME, "csi-other", OTHER);
  await running(bench);
  return bench;
}

/** Another node, which reports that address, or none. */
export async function addOther({ store }: Bench, address: string | undefined, name = OTHER): Promise<void> {
  const kind = { apiVersion: apiVersionOf(NodeAgents), kind: NodeAgents.kind };
  await store.create(NodeAgents, { ...kind, metadata: { name }, spec: {} });
  const put = (agent: NodeAgent): void => {
    agent.status = {
      state: "Ready",
      heartbeat: new Date().toISOString(),
      ...defined({ address }),
    };
  };
  await mutate(store, NodeAgents, { name }, { change: put, subresource: "status" });
}

export const layout = (bench: Bench): ShareLayout => shareLayout(bench.stateDir, NAME);

export const share = (bench: Bench, wanted: (share: ShareManager) => boolean): Promise<ShareManager> =>
  until(bench.store, ShareManagers, NAME, wanted);

/** Resolves with the address of the volume, `nfs://host:port/name`, once it is served. */
export async function running(bench: Bench): Promise<string> {
  const { status } = await share(
    bench,
    (s) => s.status?.state === "running" && s.status.endpoint !== undefined,
  );
  return status?.endpoint ?? "";
}

/** What a program on another machine would see and do, with an NFS client that needs no kernel. */
async function url(bench: Bench, file: string): Promise<string> {
  const [, address, port, path] = /^nfs:\/\/(.+):(\d+)(\/.+)$/.exec(await running(bench)) ?? [];
  return `nfs://${address}${path}/${file}?version=4&nfsport=${port}`;
}

/** Kills the volume's server; resolves when another one is there. */
export async function killServer(bench: Bench): Promise<void> {
  const [pid = 0] = await findServers(layout(bench));
  process.kill(pid, "SIGKILL");
  await eventually("another server", async () =>
    (await findServers(layout(bench))).some((other) => other !== pid),
  );
}

export async function read(bench: Bench, file: string): Promise<string> {
  const { stdout } = await bench.host.exec.run("nfs-cat", [await url(bench, file)]);
  return stdout;
}

/** As soon as the server serves the file: those who had files open come first, for a while. */
export async function readPatiently(bench: Bench, file: string): Promise<string> {
  const patient = ["60", "sh", "-c", 'until nfs-cat "$1"; do sleep 0.5; done', "sh", await url(bench, file)];
  return (await bench.host.exec.run("timeout", patient)).stdout;
}

export async function write(bench: Bench, file: string, text: string): Promise<void> {
  const from = join(bench.dir, "from");
  await writeFile(from, text);
  await bench.host.exec.run("nfs-cp", [from, await url(bench, file)]);
}

/** All workloads leave. */
export async function over(bench: Bench): Promise<void> {
  await bench.drop(NAME);
  await bench.drop(NAME, "csi-other");
  await ended(bench);
}

export async function ended(bench: Bench): Promise<void> {
  await bench.volume(NAME, "detached");
  assert.deepEqual(await findServers(layout(bench)), []);
  assert.deepEqual(await bench.host.mounts.at(layout(bench).mount), []);
}
