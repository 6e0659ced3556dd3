import assert from "node:assert/strict";
import { test } from "node:test";
import { addTicket, csiTicketId, Volumes } from "@mooring/engine";
import { Pods } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { pod } from "../support/manifests.ts";
import { OneVolume } from "../support/one-volume.ts";

const NAMESPACE = "default";
const KIND = "volumeattachments.storage.mooring.dev";

const one = await OneVolume.create();
const { store, kubectl, name: volume, mooring, done, attachment, tickets, satisfied, detached } = one;
const holderOf = async (id: string) => (await tickets())[id]?.parameters?.["lastAttachedBy"];
const ask = (holder: string, id: string, ...more: string[]) =>
  mooring("ticket", "add", volume, "--node", "node-a", "--holder", holder, "--id", id, ...more);
const edit = (spec: object, name = volume) =>
  kubectl.run(
    "patch",
    KIND,
    name,
    "--type=merge",
    "-p",
    JSON.stringify({ spec: { attachmentTickets: spec } }),
  );

/** The command, its exit code and what it prints; none of them changes anything. VOLUME is the one that there is. */
const REFUSALS: readonly [string[], number, RegExp][] = [
  [
    ["ticket", "list", "v-none"],
    1,
    /volume "v-none" does not exist, and claim default\/v-none does not exist\nnext: .*mooring volume list/,
  ],
  [["ticket", "list", "other/data"], 1, /claim other\/data does not exist\nnext: .*mooring volume list/],
  [["ticket", "list", "a/b/c"], 2, /"a\/b\/c" names no volume\nnext: .*NAMESPACE\/CLAIM/],
  [["ticket", "list", "VOLUME"], 0, /^VOLUME +CLAIM +ID/],
  [["ticket", "add", "v-none", "--node", "node-a"], 1, /volume "v-none" does not exist/],
  [["ticket", "rm", "v-none", "t"], 1, /volume "v-none" does not exist/],
  [["volume", "detach", "v-none", "--force"], 1, /volume "v-none" does not exist/],
  [
    ["ticket", "add", "VOLUME", "--node", "mars"],
    1,
    /node "mars" does not exist\nnext: .*kubectl get nodeagents/,
  ],
  [["ticket", "add", "VOLUME", "--node", "node-a", "--id", "a/b"], 2, /ticket id "a\/b" is not valid/],
  [["ticket", "add", "VOLUME", "--node", "node-a", "--id", ".."], 2, /ticket id "\.\." is not valid/],
  [["ticket", "add", "VOLUME", "--node", "node-a", "--holder", ""], 2, /name an operator/],
  [["ticket", "add", "VOLUME", "--node", "node-a", "--for", "2w"], 2, /write it like 30m/],
  [["volume", "attach", "VOLUME", "--node", "node-a", "--timeout", "soon"], 2, /write it like 30m/],
  [["ticket", "rm", "VOLUME", "unknown"], 0, /there is no ticket unknown/],
  [["ticket", "rm", "VOLUME", "unknown", "--force"], 0, /there is no ticket unknown/],
  [["ticket", "rm", "VOLUME", "unknown", "--force", "--holder", "ann"], 2, /cannot be used with/],
  [["volume", "detach", "VOLUME", "--all"], 0, /no ticket had to end/],
];
for (const [args, exit, message] of REFUSALS) {
  test(`bad input on the command line: ${args.join(" ")}`, async () => {
    const { code, text } = await mooring(...args.map((arg) => (arg === "VOLUME" ? volume : arg)));
    assert.equal(code, exit, text);
    assert.match(text, message);
    assert.deepEqual(await tickets(), {});
  });
}

test("a ticket with an end is printed as it was written, and ends by force of another, or by its holder", async () => {
  const before = Date.now();
  const { code, text } = await ask("ann", "mine", "--for", "2h", "--json");
  assert.equal(code, 0, text);
  const { id, nodeID, expiresAt, parameters } = JSON.parse(text);
  assert.deepEqual([id, nodeID, parameters.lastAttachedBy], ["mine", "node-a", "ann"]);
  const hours = (Date.parse(expiresAt) - before) / 3_600_000;
  assert.ok(hours >= 2 && hours < 2.2, expiresAt);
  await satisfied("mine");
  const refused = await mooring("ticket", "rm", volume, "mine", "--holder", "bob");
  assert.equal(refused.code, 1);
  assert.match(refused.text, /held by ann, not by bob/);
  assert.match(await done("ticket", "rm", volume, "mine", "--force"), /ticket mine ended/);
  await detached();
});

test("without a place in the queue an operator is refused; with one they wait, learn for whom when their time is over, and have their turn", async () => {
  await done("volume", "attach", volume, "--node", "node-a", "--holder", "ann");
  const wish = [
    "volume",
    "attach",
    volume,
    "--node",
    "node-a",
    "--id",
    "bob",
    "--holder",
    "bob",
    "--maintenance",
  ];
  const refused = await mooring(...wish);
  assert.equal(refused.code, 1);
  assert.match(refused.text, /wanted otherwise: ticket "longhorn-ui".*of ann.*\nnext: .*\(--queue\)/);
  const late = await mooring(...wish, "--queue", "--timeout", "6s");
  assert.equal(late.code, 1);
  assert.match(late.text, /ticket bob still waits: .*ticket "longhorn-ui"/);
  assert.match(late.text, /next: it keeps its place; .*detach \S+ --id bob --holder bob\n/);
  assert.equal(await holderOf("bob"), "bob");
  const waiting = done(...wish, "--queue");
  await done("volume", "detach", volume, "--holder", "ann");
  assert.match(await waiting, /is attached to node-a for maintenance \(ticket bob\)/);
  await done("volume", "detach", volume, "--id", "bob", "--holder", "bob");
  await detached();
});

test("of two operators who take the same id at once one has it, by command and by kubectl; different ids are both kept", async () => {
  const both = await Promise.all(["ann", "bob"].map((holder) => ask(holder, "race")));
  assert.deepEqual(both.map(({ code }) => code).sort(), [0, 1]);
  const [winner, loser] = both[0]?.code === 0 ? ["ann", "bob"] : ["bob", "ann"];
  assert.match(both.map(({ text }) => text).join(), new RegExp(`"race" is held by ${winner}`));
  assert.equal(await holderOf("race"), winner);
  assert.equal((await mooring("ticket", "rm", volume, "race", "--holder", loser ?? "")).code, 1);
  const write = (id: string, holder: string) =>
    edit({ [id]: { id, type: "longhorn-api", nodeID: "node-a", parameters: { lastAttachedBy: holder } } });
  const edits = await Promise.allSettled([write("kube", "ann"), write("kube", "bob")]);
  assert.deepEqual(edits.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  assert.match(String(edits.map((e) => (e.status === "rejected" ? e.reason : ""))), /stays its holder's/);
  assert.equal(await holderOf("kube"), edits[0]?.status === "fulfilled" ? "ann" : "bob");
  await Promise.all([
    write("ann", "ann"),
    write("bob", "bob"),
    ask("eve", "eve").then(({ code }) => assert.equal(code, 0)),
  ]);
  assert.deepEqual(Object.keys(await tickets()).sort(), ["ann", "bob", "eve", "kube", "race"]);
  for (const id of ["ann", "bob", "eve", "kube", "race"]) await satisfied(id);
});

test("a forced detach ends the tickets of all operators, and with --all those of jobs", async (t) => {
  t.after(() => mooring("volume", "detach", volume, "--all"));
  for (const holder of ["ann", "bob"]) assert.equal((await ask(holder, holder)).code, 0);
  const operators = Object.keys(await tickets()).sort();
  const { apiVersion, kind, metadata } = await store.get(Volumes, { name: volume });
  const owner = { apiVersion, kind, name: volume, uid: metadata.uid ?? "" };
  const job = { id: "job", type: "volume-rebuilding-controller" as const, nodeID: "node-a", owner };
  await addTicket(store, volume, { ...job, parameters: { disableFrontend: "any" } }, { now: new Date() });
  const refused = await mooring("ticket", "rm", volume, "job");
  assert.equal(refused.code, 1);
  assert.match(refused.text, /belongs to volume-rebuilding-controller and ends with Volume.*\(--force\)/s);
  const output = await done("volume", "detach", volume, "--force");
  const ended = output.replace("ended: ", "").trim().split(", ");
  assert.deepEqual(ended.sort(), operators);
  assert.deepEqual(Object.keys(await tickets()), ["job"]);
  assert.match(await done("volume", "detach", volume, "--all"), /ended: job/);
  await detached();
});

test("kubectl: a ticket that is not there ends without a change; an object of no volume is removed, and that is reported", async () => {
  const { resourceVersion } = (await attachment()).metadata;
  assert.match(await edit({ nobody: null }), /no change/);
  assert.equal((await attachment()).metadata.resourceVersion, resourceVersion);
  const parameters = { lastAttachedBy: "ann" };
  const spec = {
    volume: "v-lost",
    attachmentTickets: { t: { id: "t", type: "longhorn-api", nodeID: "node-a", parameters } },
  };
  const lost = {
    apiVersion: "storage.mooring.dev/v1alpha1",
    kind: "VolumeAttachment",
    metadata: { name: "v-lost" },
    spec,
  };
  assert.equal((await kubectl.feed(JSON.stringify(lost), "create")).code, 0);
  await eventually("the object to be removed", async () => {
    return (await kubectl.run("get", KIND, "v-lost", "--ignore-not-found")) === "";
  });
  await eventually("that to be reported", async () => {
    const output = await kubectl.run("get", "events", "-A", "--field-selector", "involvedObject.name=v-lost");
    return /Warning +VolumeNotFound .*there is no volume "v-lost".*with ticket "t"/.test(output);
  });
});

for (const flag of ["--force", "--all"]) {
  test(`volume detach ${flag} takes no mounted device from a running Pod, and the Pod writes on`, async (t) => {
    const script = "while :; do date > /data/now; sync /data/now; echo written; sleep 0.2; done";
    await store.create(Pods, pod(NAMESPACE, "user", script, { mounts: { "/data": "data" } }));
    const key = { namespace: NAMESPACE, name: "user" };
    t.after(() => kubectl.run("delete", "pod", "user", "--ignore-not-found"));
    await eventually("the Pod to run", async () => (await store.get(Pods, key)).status?.phase === "Running");
    const csi = csiTicketId(volume, "node-a");
    await satisfied(csi);
    const lines = async () => (await kubectl.run("logs", "user")).split("\n").length;
    const before = (await store.get(Pods, key)).status;
    assert.match(await done("volume", "detach", volume, flag), new RegExp(`ended: .*${csi}`));
    const written = await lines();
    await eventually("the Pod to write on", async () => (await lines()) > written + 5);
    const { status } = await store.get(Pods, key);
    const container = (of: typeof status) => of?.containerStatuses?.[0]?.containerID;
    assert.deepEqual([status?.phase, container(status)], ["Running", container(before)]);
    await kubectl.run("delete", "pod", "user", "--wait=true");
    await detached();
    await eventually("no ticket to be left", async () => Object.keys(await tickets()).length === 0);
  });
}
