import assert from "node:assert/strict";
import { access, readFile, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { defined, Events, mutate } from "@mooring/store";
import { covers, everyday, thorough } from "@mooring/store/testing";
import { type ShareManager, ShareManagers } from "../../api/share-manager.ts";
import { Volumes } from "../../api/volume.ts";
import { Bench, NODE, until } from "../../testing/agent.ts";
import { MIB } from "../../testing/scratch.ts";
import { withoutProgram } from "../../testing/without-program.ts";
import { ticketStatus } from "../../tickets/tickets.ts";
import { chooseAddress } from "./address.ts";
import { recordedSocket, serverConfig } from "./config.ts";
import { findPlace } from "./place.ts";
import { isServing } from "./probe.ts";
import { findServers } from "./server.ts";
import {
  addOther,
  ended,
  killServer,
  layout,
  NAME,
  OTHER,
  over,
  read,
  readPatiently,
  running,
  served,
  share,
  write,
  XFS,
} from "./testing.ts";

const SOCKET = { address: "192.0.2.7", port: 20_491 };

test("another node's ticket brings an NFS server up, and its end takes it down", everyday(), async (t) => {
  covers("LHA-059", "LHA-076");
  const bench = await served(t);
  const attachment = await bench.ticketsUntil(NAME, (a) =>
    ["csi-w", "csi-other"].every((id) => ticketStatus(a, id)?.satisfied === true),
  );
  assert.ok(attachment.includes(`share-manager-controller-${NAME} share-manager-controller ${NODE}`));
  await share(bench, ({ spec }) => spec.users?.join() === `${OTHER},${NODE}`);
  await write(bench, "f", "from afar");
  assert.equal(await readFile(join(layout(bench).mount, "f"), "utf8"), "from afar");
  await writeFile(join(layout(bench).mount, "g"), "from here");
  assert.equal(await read(bench, "g"), "from here");
  await writeFile(join(layout(bench).mount, "g"), "from here, later");
  assert.equal(await read(bench, "g"), "from here, later");
  await bench.drop(NAME);
  await share(bench, ({ spec }) => spec.users?.join() === OTHER);
  assert.equal(await read(bench, "f"), "from afar", "who stays is not disturbed");
  await bench.ask(NAME);
  await bench.drop(NAME, "csi-other");
  await share(bench, ({ status }) => status?.state === "running" && status.endpoint === undefined);
  assert.deepEqual(await findServers(layout(bench)), [], "nobody needs it");
  assert.equal(await readFile(join(layout(bench).mount, "g"), "utf8"), "from here, later");
  await bench.ticketsUntil(NAME, (a) => ticketStatus(a, "csi-w")?.satisfied === true);
  await bench.drop(NAME);
  await share(bench, ({ status }) => status?.state === "stopped");
  await ended(bench);
});

test(
  "tickets that are torn out of a served volume come back, and its server never ends",
  thorough(),
  async (t) => {
    const bench = await served(t);
    const before = await findServers(layout(bench));
    await write(bench, "f", "kept");
    for (let round = 0; round < 5; round += 1) {
      await bench.drop(NAME, `share-manager-controller-${NAME}`);
      await bench.ticketsUntil(NAME, (a) => ticketStatus(a, "csi-w")?.satisfied === true);
    }
    assert.equal(await read(bench, "f"), "kept");
    assert.deepEqual(await findServers(layout(bench)), before);
    await over(bench);
  },
);

test(
  "whatever is written by hand into a ShareManager, it reports again what is, and clients read on",
  thorough(),
  async (t) => {
    const bench = await served(t);
    const endpoint = await running(bench);
    await write(bench, "f", "kept");
    const whole = ({ spec, status }: ShareManager): boolean =>
      spec.nodeID === NODE &&
      spec.users?.join() === `${OTHER},${NODE}` &&
      status?.state === "running" &&
      status.endpoint === endpoint;
    const wrong: ShareManager["status"] = {
      state: "running",
      nodeID: "nobody",
      endpoint: "nfs://192.0.2.1:1/x",
    };
    const edits: readonly [string, "status" | undefined, (share: ShareManager) => ShareManager][] = [
      ["another node", undefined, (share) => ({ ...share, spec: { ...share.spec, nodeID: "nobody" } })],
      ["no node and no users", undefined, (share) => ({ ...share, spec: { nodeID: "" } })],
      ["another address", "status", (share) => ({ ...share, status: wrong })],
      ["stopped", "status", (share) => ({ ...share, status: { state: "stopped", nodeID: NODE } })],
      ["no status", "status", ({ status: _, ...share }) => share],
    ];
    const healed = async (what: string): Promise<void> => {
      await share(bench, whole).catch((cause: unknown) => assert.fail(`${what}: ${String(cause)}`));
      await bench.ticketsUntil(NAME, (a) => ticketStatus(a, "csi-w")?.satisfied === true);
      assert.equal((await bench.store.get(Volumes, { name: NAME })).spec.nodeID, NODE, what);
    };
    for (const [what, subresource, edit] of edits) {
      const options = defined({ subresource });
      await mutate(bench.store, ShareManagers, { name: NAME }, { change: edit, ...options });
      await healed(what);
    }
    await bench.store.delete(ShareManagers, { name: NAME });
    await until(bench.store, ShareManagers, NAME, whole);
    await healed("deleted");
    assert.equal(await readPatiently(bench, "f"), "kept");
    await over(bench);
  },
);

test(
  "a volume that is served at another address than its clients have requests them to mount it again",
  thorough(),
  async (t) => {
    const bench = await served(t);
    const endpoint = await running(bench);
    assert.equal((await bench.store.get(Volumes, { name: NAME })).status?.remountRequestedAt, undefined);
    // What the node left that served it before.
    const lost = { state: "running", nodeID: "lost", endpoint: "nfs://192.0.2.1:1/v-p-1" } as const;
    const put = (share: ShareManager): ShareManager => ({ ...share, status: lost });
    await mutate(bench.store, ShareManagers, { name: NAME }, { change: put, subresource: "status" });
    await bench.volumeWhere(NAME, ({ status }) => status?.remountRequestedAt !== undefined);
    const deadline = AbortSignal.timeout(60_000);
    for await (const { object } of bench.store.watch(Events, { signal: deadline })) {
      if (object.reason !== "ShareMoved") continue;
      assert.match(
        object.message ?? "",
        new RegExp(`served at ${endpoint} now, no longer at ${lost.endpoint}`),
      );
      break;
    }
    await over(bench);
  },
);

test(
  "a server that dies comes back at the address that its clients have, with everything that was written",
  thorough(),
  async (t) => {
    const bench = await served(t);
    const endpoint = await running(bench);
    await write(bench, "f", "kept");
    await killServer(bench);
    assert.equal(await running(bench), endpoint);
    assert.equal(await readPatiently(bench, "f"), "kept");
    await over(bench);
  },
);

test(
  "7106, 6829: an agent goes on with the server that it finds; a device is closed only when its server and its mount are gone",
  thorough(),
  async (t) => {
    const bench = await served(t);
    const [pid] = await findServers(layout(bench));
    await bench.stop();
    assert.deepEqual(await findServers(layout(bench)), [pid], "clients go on while no agent is there");
    await bench.start();
    await over(bench);
  },
);

test("a served volume grows, and is copied, while it is in use", thorough(), async (t) => {
  const bench = await served(t);
  await write(bench, "f", "before the copy");
  await bench.createSnapshot("s-p-1", NAME);
  await bench.snapshot("s-p-1");
  await write(bench, "g", "after it");
  await bench.resize(NAME, 512 * MIB);
  await share(bench, ({ status }) => status?.size === 512 * MIB && status.state === "running");
  const { blocks, bsize } = await statfs(layout(bench).mount);
  assert.ok(blocks * bsize > 400 * MIB, `${blocks * bsize} bytes`);
  await bench.createVolume("v-p-2", {
    fsType: "xfs",
    size: 512 * MIB,
    source: { kind: "Snapshot", name: "s-p-1" },
  });
  await bench.volume("v-p-2", "detached");
  await bench.ask("v-p-2", "csi-copy");
  const { status } = await bench.volume("v-p-2", "attached");
  const copy = status?.device ?? "";
  const at = join(bench.dir, "copy");
  await bench.host.exec.run("mkdir", [at]);
  await bench.host.mounts.mount({ source: copy, target: at, fsType: "xfs", options: ["nouuid"] });
  assert.equal(await readFile(join(at, "f"), "utf8"), "before the copy");
  await assert.rejects(access(join(at, "g")), { code: "ENOENT" });
  await bench.host.mounts.unmount(at);
  await over(bench);
});

test("a volume that is deleted while it is served waits for its users", thorough(), async (t) => {
  const bench = await served(t);
  await bench.store.delete(Volumes, { name: NAME });
  assert.match(await running(bench), /^nfs:/);
  await bench.drop(NAME);
  await bench.drop(NAME, "csi-other");
  await bench.gone(Volumes, NAME);
  await bench.gone(ShareManagers, NAME);
  const left = () =>
    access(layout(bench).folder).then(
      () => true,
      () => false,
    );
  while (await left()) await bench.host.clock.sleep(50, AbortSignal.timeout(60_000));
});

test(
  "where the server is not installed, the tickets say what to install; who comes later gets no reason that is over",
  thorough(),
  async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true });
    const installed = await withoutProgram(t, join(bench.dir, "tools"), "ganesha.nfsd");
    await addOther(bench, (await findPlace()).addresses[0]);
    await bench.createVolume(NAME, XFS);
    await bench.volume(NAME, "detached");
    await bench.ask(NAME);
    await bench.ticketsUntil(NAME, (a) => ticketStatus(a, "csi-w")?.satisfied === true);
    await bench.ask(NAME, "csi-other", OTHER);
    await bench.ticketsUntil(NAME, (a) => {
      const result = ticketStatus(a, "csi-other")?.conditions[0];
      return (
        result?.reason === "ShareNotReady" && /apt-get install nfs-ganesha-vfs/.test(result.message ?? "")
      );
    });
    await bench.drop(NAME);
    await bench.drop(NAME, "csi-other");
    await share(bench, ({ status }) => status?.state === "stopped" && status.error === undefined);
    installed();
    await bench.ask(NAME, "csi-other", OTHER);
    await running(bench);
    await over(bench);
  },
);

test(
  "a server listens where other nodes connect to it and nowhere else; one that listens elsewhere is replaced",
  thorough(),
  async (t) => {
    const bench = await served(t);
    const [, address = "", port] = /^nfs:\/\/(.+):(\d+)/.exec(await running(bench)) ?? [];
    const open = async (host: string) => isServing({ address: host, port: Number(port) }, 5000);
    assert.equal(await open(address), true);
    assert.equal(await open("127.0.0.1"), address === "127.0.0.1");
    await write(bench, "f", "kept");
    await bench.stop();
    const [before] = await findServers(layout(bench));
    const config = await readFile(layout(bench).config, "utf8");
    await writeFile(layout(bench).config, config.replace(/Bind_addr = .*/, "Bind_addr = 198.51.100.7;"));
    await bench.start();
    const replaced = async () => (await findServers(layout(bench))).some((pid) => pid !== before);
    while (!(await replaced())) await bench.host.clock.sleep(50, AbortSignal.timeout(60_000));
    assert.equal(await readFile(layout(bench).config, "utf8"), config, "with the port that clients have");
    assert.equal(await readFile(join(layout(bench).mount, "f"), "utf8"), "kept");
    await over(bench);
  },
);

test("a server keeps the address that its clients have, as long as the node has it", everyday(), () => {
  assert.equal(chooseAddress(undefined, ["10.0.0.1", "10.1.0.1"]), "10.0.0.1");
  assert.equal(chooseAddress("10.1.0.1", ["10.0.0.1", "10.1.0.1"]), "10.1.0.1");
  assert.equal(chooseAddress("10.9.0.1", ["10.0.0.1", "10.1.0.1"]), "10.0.0.1");
  assert.equal(chooseAddress("127.0.0.1", ["10.0.0.1"]), "10.0.0.1");
  assert.equal(chooseAddress("10.9.0.1", []), "10.9.0.1");
  assert.equal(chooseAddress(undefined, []), "127.0.0.1");
  const docker = ["172.17.0.1", "10.0.0.1"];
  assert.equal(chooseAddress(undefined, docker, "10.0.0.1"), "10.0.0.1");
  assert.equal(chooseAddress("172.17.0.1", docker, "10.0.0.1"), "172.17.0.1", "its clients have that one");
  assert.equal(chooseAddress(undefined, docker, "10.9.0.1"), "172.17.0.1", "it is not this node's any more");
});

test(
  "where a server listens is read back from its configuration, and from nothing else",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t, "xfs");
    const at = layout(bench);
    assert.deepEqual(await recordedSocket(at), {});
    await bench.host.exec.run("mkdir", ["-p", at.folder]);
    await writeFile(at.config, serverConfig(at, NAME, SOCKET, [SOCKET.address]));
    assert.deepEqual(await recordedSocket(at), SOCKET);
    await writeFile(at.config, "  Bind_addr = 300.1.1.1;\n  NFS_Port = 99999999;\n");
    assert.deepEqual(await recordedSocket(at), {});
  },
);
