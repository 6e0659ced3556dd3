import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Events, mutate } from "@mooring/store";
import { everyday, thorough } from "@mooring/store/testing";
import { type NodeAgent, NodeAgents } from "../../api/node-agent.ts";
import { Bench } from "../../testing/agent.ts";
import { ticketStatus } from "../../tickets/tickets.ts";
import { findPlace } from "./place.ts";
import { findServers } from "./server.ts";
import { addOther, ended, layout, NAME, OTHER, read, running, served, share, write, XFS } from "./testing.ts";

/** An address for documentation (RFC 5737), in another network than this machine's. */
const FAR = "198.51.100.9";
const OUTSIDER = "outsider";

async function clients(bench: Bench): Promise<string> {
  const config = await readFile(layout(bench).config, "utf8");
  return /^ {4}Clients = (.*);$/m.exec(config)?.[1] ?? "";
}

async function refused(bench: Bench): Promise<string> {
  await bench.ticketsUntil(
    NAME,
    (a) => ticketStatus(a, "csi-far")?.conditions[0]?.reason === "NetworkNotTrusted",
  );
  const { status } = await share(bench, (s) => s.status?.untrusted?.[0]?.refused === true);
  return status?.untrusted?.[0]?.message ?? "";
}

async function event(bench: Bench, reason: string): Promise<string> {
  for await (const { object } of bench.store.watch(Events, { signal: AbortSignal.timeout(60_000) }))
    if (object.reason === reason) return object.message ?? "";
  return "";
}

test(
  "a node whose network nobody has named is refused, with what to do; those who are let in do not notice",
  everyday(),
  async (t) => {
    const bench = await served(t);
    await write(bench, "f", "kept");
    await addOther(bench, FAR, OUTSIDER);
    await bench.ask(NAME, "csi-far", OUTSIDER);
    assert.match(
      await refused(bench),
      /node "outsider" at 198\.51\.100\.9 .* --trusted-network .* WireGuard/,
    );
    assert.match(await event(bench, "NetworkNotTrusted"), /--trusted-network/);
    assert.doesNotMatch(await clients(bench), /198\.51/);
    assert.equal(await read(bench, "f"), "kept");
    const { status } = await share(bench, (s) => s.status?.endpoint !== undefined);
    assert.deepEqual(status?.users, [OTHER]);
    await bench.drop(NAME, "csi-other");
    await share(bench, (s) => s.status?.state === "running" && s.status.endpoint === undefined);
    assert.deepEqual(await findServers(layout(bench)), [], "for whoever is refused there is no server");
    await bench.drop(NAME);
    await bench.drop(NAME, "csi-far");
    await ended(bench);
  },
);

test("a node that has reported no address is refused, and let in once it has one", thorough(), async (t) => {
  const bench = await served(t);
  await addOther(bench, undefined, OUTSIDER);
  await bench.ask(NAME, "csi-far", OUTSIDER);
  assert.match(await refused(bench), /node "outsider" has reported no IPv4 address/);
  const [own = ""] = (await findPlace()).addresses;
  const report = (agent: NodeAgent): void => {
    agent.status = { ...agent.status, state: "Ready", address: own };
  };
  await mutate(bench.store, NodeAgents, { name: OUTSIDER }, { change: report, subresource: "status" });
  await bench.ticketsUntil(NAME, (a) => ticketStatus(a, "csi-far")?.satisfied === true);
});

test(
  "a node that no longer reports an address stays in at its last one, until its workloads end",
  thorough(),
  async (t) => {
    const bench = await served(t);
    await bench.ticketsUntil(NAME, (a) => ticketStatus(a, "csi-other")?.satisfied === true);
    const before = await clients(bench);
    const lose = (agent: NodeAgent): void => {
      const { address: _lost, ...status } = agent.status ?? { state: "Ready" };
      agent.status = status;
    };
    await mutate(bench.store, NodeAgents, { name: OTHER }, { change: lose, subresource: "status" });
    const { status } = await share(bench, (s) => (s.status?.untrusted ?? []).length > 0);
    assert.deepEqual([status?.untrusted?.[0]?.refused, status?.users], [false, [OTHER]]);
    // Also over the death of the agent, which remembers nothing.
    await bench.stop();
    await bench.start();
    await bench.drop(NAME);
    await share(bench, (s) => s.spec.users?.join() === OTHER && s.status?.state === "running");
    assert.equal(await clients(bench), before);
    await bench.ticketsUntil(NAME, (a) => ticketStatus(a, "csi-other")?.satisfied === true);
    await bench.drop(NAME, "csi-other");
    await ended(bench);
  },
);

test(
  "who was let in stays in when its network is not trusted any more, until its workloads end; then it is refused",
  thorough(),
  async (t) => {
    const [own = ""] = (await findPlace()).addresses;
    const trustedNetworks = [`${own}/32`, "198.51.100.0/24"];
    const bench = await Bench.open(t, "xfs", { tickets: true, trustedNetworks });
    await addOther(bench, FAR, OUTSIDER);
    await bench.createVolume(NAME, XFS);
    await bench.volume(NAME, "detached");
    await bench.ask(NAME);
    await bench.ask(NAME, "csi-far", OUTSIDER);
    const endpoint = await running(bench);
    await bench.ticketsUntil(NAME, (a) => ticketStatus(a, "csi-far")?.satisfied === true);
    const [pid = 0] = await findServers(layout(bench));
    await bench.stop();
    bench.trustedNetworks = [];
    await bench.start();
    const { status } = await share(bench, (s) => (s.status?.untrusted ?? []).length > 0);
    assert.deepEqual([status?.untrusted?.[0]?.refused, status?.users], [false, [OUTSIDER]]);
    assert.match(await event(bench, "ServedOnUntrustedNetwork"), /stays in until its workloads end/);
    process.kill(pid, "SIGKILL");
    const another = async () => (await findServers(layout(bench))).some((other) => other !== pid);
    while (!(await another())) await bench.host.clock.sleep(50, AbortSignal.timeout(60_000));
    assert.equal(await running(bench), endpoint, "also over the death of its server");
    assert.match(await clients(bench), /198\.51/);
    await bench.drop(NAME, "csi-far");
    await share(bench, (s) => s.status?.state === "running" && s.status.endpoint === undefined);
    await bench.ask(NAME, "csi-far", OUTSIDER);
    await refused(bench);
    assert.deepEqual(await findServers(layout(bench)), []);
    await bench.drop(NAME, "csi-far");
    await bench.drop(NAME);
    await ended(bench);
  },
);
