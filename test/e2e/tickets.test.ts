import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { test } from "node:test";
import {
  type CollectionResource,
  csiTicketId,
  type SnapshotResource,
  ticketStatus,
  VolumeAttachments,
  type VolumeResource,
  Volumes,
} from "@mooring/engine";
import { Pods } from "@mooring/store";
import { covers, eventually, sample, thorough } from "@mooring/store/testing";
import { pod } from "../support/manifests.ts";
import { OneVolume } from "../support/one-volume.ts";
import { rest } from "../support/rest.ts";

const NAMESPACE = "default";
const KIND = "volumeattachments.storage.mooring.dev";

const one = await OneVolume.create();
const { up, name: volume, mooring, done, attachment, tickets, satisfied, detached } = one;
const isSatisfied = async (id: string) => ticketStatus(await attachment(), id)?.satisfied === true;
const phase = async () => (await one.store.get(Pods, { namespace: NAMESPACE, name: "user" })).status?.phase;
const startedAt = async () =>
  (await one.store.get(Pods, { namespace: NAMESPACE, name: "user" })).status?.containerStatuses?.[0]
    ?.containerID;

test("an operator attaches a volume by name, sees it in every list, and gives it back", async () => {
  assert.match(await done("volume", "list"), new RegExp(`^${volume} +detached +64 MiB`, "m"));
  const output = await done("volume", "attach", volume, "--node", "node-a", "--holder", "ann", "--for", "2h");
  assert.match(output, /is attached to node-a as \/dev\/loop\d+ \(ticket longhorn-ui\)/);
  assert.match(
    await done("ticket", "list", volume),
    /longhorn-ui +longhorn-api +1000 +node-a +ann +yes +Attached +\d+s +\d{4}-/,
  );
  assert.match(await one.kubectl.run("get", KIND, volume), /node-a +attached +1 +0 +ann/);
  assert.match(await done("volume", "show", volume), /for ann, until \d{4}.*satisfied for/);
  for (const args of [
    ["volume", "detach", volume],
    ["ticket", "rm", volume, "longhorn-ui"],
  ]) {
    const wrong = await mooring(...args, "--holder", "bob");
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /"longhorn-ui" is held by ann, not by bob.*\n.*Ask ann.*\(--force\)/s);
    // The login of this machine is not ann either.
    assert.match((await mooring(...args)).stderr, /held by ann, not by/);
    assert.match((await mooring(...args, "--holder", "ann", "--force")).stderr, /cannot be used with/);
  }
  assert.equal(await isSatisfied("longhorn-ui"), true);
  assert.match(await done("volume", "detach", volume, "--holder", "ann"), /ended: longhorn-ui/);
  await detached();
  assert.match(await done("ticket", "rm", volume, "longhorn-ui"), /there is no ticket/);
});

test("a volume is named by its claim wherever it is by its handle, and each is shown beside the other", async () => {
  assert.match(await done("volume", "list"), new RegExp(`^${volume} +detached .* default/data `, "m"));
  const attached = await done("volume", "attach", "data", "--node", "node-a", "--holder", "ann");
  assert.match(attached, new RegExp(`^volume ${volume} \\(claim default/data\\) is attached to node-a as`));
  for (const named of ["data", "default/data", volume]) {
    assert.match(
      await done("ticket", "list", named),
      new RegExp(`^${volume} +default/data +longhorn-ui`, "m"),
    );
    assert.match(
      await done("volume", "show", named),
      new RegExp(`Volume ${volume} \\(claim default/data\\): attached on node-a`),
    );
    assert.match(
      await done("why", `volume/${named}`),
      new RegExp(`^ok +Volume ${volume} \\(claim default/data\\): attached on node-a`),
    );
  }
  assert.match(await done("why", "pvc/default/data"), /^ok +PersistentVolumeClaim default\/data/);
  assert.match(await done("why", "default/data"), /PersistentVolumeClaim default\/data/);
  assert.match(await done("why", "mva/default/data"), new RegExp(`VolumeAttachment ${volume} \\(claim`));
  const added = await done(
    "ticket",
    "add",
    "default/data",
    "--node",
    "node-a",
    "--id",
    "x",
    "--holder",
    "ann",
  );
  assert.match(added, new RegExp(`ticket x of volume ${volume} \\(claim default/data\\) for node node-a`));
  assert.match(await done("ticket", "rm", "data", "x", "-n", "default", "--holder", "ann"), /ticket x ended/);
  const elsewhere = await mooring("volume", "detach", "data", "-n", "other", "--holder", "ann");
  assert.equal(elsewhere.code, 1);
  assert.match(elsewhere.stderr, /volume "data" does not exist, and claim other\/data does not exist/);
  assert.match(await done("volume", "detach", "default/data", "--holder", "ann"), /ended: longhorn-ui/);
  await detached();
});

const url = `/v1/volumes/${volume}`;
const act = <T>(action: string, body: object) => rest<T>(up.kubeconfig, `${url}?action=${action}`, body);
const read = async () => (await rest<VolumeResource>(up.kubeconfig, url)).body;

test("a snapshot of a detached volume by REST is made, listed and deleted, and leaves it detached", async () => {
  covers("LHA-003", "LHA-062");
  assert.equal((await act("snapshotCRCreate", { name: "before", labels: { why: "test" } })).status, 200);
  const snapshot = await eventually("the snapshot to be ready", async () => {
    const { body } = await act<SnapshotResource>("snapshotCRGet", { name: "before" });
    return body.readyToUse === true && body;
  });
  assert.deepEqual(
    [snapshot.volume, snapshot.restoreSize, snapshot.labels],
    [volume, 64 * 2 ** 20, { why: "test" }],
  );
  await eventually("the volume to be detached again, without tickets", async () => {
    const { state, volumeAttachment } = await read();
    return state === "detached" && Object.keys(volumeAttachment.attachments).length === 0;
  });
  assert.equal((await act("snapshotCRDelete", { name: "before" })).status, 200);
  await eventually("the snapshot to be gone", async () => {
    return (await act<CollectionResource<SnapshotResource>>("snapshotCRList", {})).body.data.length === 0;
  });
});

test("an operator attaches and detaches a real device by REST", async () => {
  assert.equal((await act("attach", { hostId: "node-a", attachedBy: "ann" })).status, 200);
  const attached = await eventually("the ticket to be satisfied", async () => {
    const body = await read();
    // Two objects say it, which are read one after the other.
    const isSaid = body.controllers[0]?.running === true;
    return isSaid && body.volumeAttachment.attachments["longhorn-ui"]?.satisfied === true && body;
  });
  const [controller] = attached.controllers;
  assert.equal(controller?.hostId, "node-a");
  assert.ok((await stat(controller?.endpoint ?? "")).isBlockDevice());
  assert.equal((await act("detach", {})).status, 409);
  assert.equal((await act("detach", { attachedBy: "ann" })).status, 200);
  await eventually("the volume to be detached", async () => {
    return (await read()).state === "detached";
  });
});

test("a Pod and an operator attach a volume together; a third who wants it otherwise waits and learns for whom", async () => {
  await one.store.create(
    Pods,
    pod(NAMESPACE, "user", "while :; do date > /data/now; sync /data/now; sleep 1; done", {
      mounts: {
        "/data": "data",
      },
    }),
  );
  await eventually("the Pod to run", async () => (await phase()) === "Running");
  await done("volume", "attach", volume, "--node", "node-a", "--holder", "ann");
  await done("ticket", "add", volume, "--node", "node-a", "--holder", "bob", "--id", "bob", "--maintenance");
  const why = await eventually("the ticket to be evaluated", async () => {
    const ran = await mooring("why", `volume/${volume}`);
    return ran.stdout.includes("AttachedWithIncompatibleParameters") && ran;
  });
  assert.equal(why.code, 1);
  assert.match(
    why.stdout,
    /ticket bob .*for bob\): waits for \d+s: .*with its device by ticket .*ends when: the ticket that has/,
  );
  assert.match(why.stdout, new RegExp(`^next: see who has it: mooring ticket list ${volume}`, "m"));
  const shown = await mooring("why", `volumeattachment/${volume}`);
  assert.match(shown.stdout, /held by ann and 1 more on node node-a \(attached\), 1 waiting/);
  const rows = JSON.parse(await done("ticket", "list", volume, "--json")) as {
    id: string;
    satisfied: boolean;
  }[];
  assert.deepEqual(
    rows.filter(({ satisfied }) => !satisfied).map(({ id }) => id),
    ["bob"],
  );
  await done("ticket", "rm", volume, "bob", "--holder", "bob");
  assert.match(await done("why", "pod/user"), /ticket csi-.*for VolumeAttachment csi-.*satisfied/);
});

test("10452: the ticket of a running Pod cannot be ended by an operator, and comes back when it is torn out", async () => {
  const csi = csiTicketId(volume, "node-a");
  const refused = await mooring("ticket", "rm", volume, csi);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /belongs to csi-attacher and ends with VolumeAttachment/);
  await done("volume", "detach", volume, "--id", "longhorn-ui", "--force");
  const before = await startedAt();
  const tear = JSON.stringify({ spec: { attachmentTickets: { [csi]: null } } });
  await one.kubectl.run("patch", KIND, volume, "--type=merge", "-p", tear);
  await eventually("the ticket to be back", () => isSatisfied(csi));
  await eventually("its event", async () =>
    /TicketRestored/.test(await one.kubectl.run("describe", KIND, volume)),
  );
  await assert.rejects(one.kubectl.run("delete", KIND, volume, "--wait=false"), /stay as long as the volume/);
  const bare = JSON.stringify({ metadata: { finalizers: null } });
  await one.kubectl.run("patch", KIND, volume, "--type=merge", "-p", bare);
  await eventually("the object to be protected again", async () => {
    const { metadata } = await one.store.get(VolumeAttachments, { name: volume });
    return (metadata.finalizers ?? []).length > 0 && isSatisfied(csi);
  });
  assert.deepEqual([await phase(), await startedAt()], ["Running", before]);
});

test(
  "a volume's status written by hand does not take the device from a running Pod",
  thorough(),
  async () => {
    const { status: right } = await one.store.get(Volumes, { name: volume });
    const before = await startedAt();
    const lie = JSON.stringify({ status: { state: "detached", currentNodeID: "", device: "/dev/null" } });
    await one.kubectl.run(
      "patch",
      "volumes.storage.mooring.dev",
      volume,
      "--subresource=status",
      "--type=merge",
      "-p",
      lie,
    );
    await eventually("the status to be right again", async () => {
      const { status } = await one.store.get(Volumes, { name: volume });
      return status?.state === "attached" && status.device === right?.device;
    });
    await satisfied(csiTicketId(volume, "node-a"));
    assert.deepEqual([await phase(), await startedAt()], ["Running", before]);
  },
);

test("6120: an attached volume stays so over a kill and a restart", thorough(), async () => {
  const device = (await one.store.get(Volumes, { name: volume })).status?.device;
  const before = await startedAt();
  await one.restart();
  await satisfied(csiTicketId(volume, "node-a"));
  const { status } = await one.store.get(Volumes, { name: volume });
  assert.deepEqual([status?.state, status?.device], ["attached", device]);
  assert.deepEqual([await phase(), await startedAt()], ["Running", before]);
});

/** What is wrong, the command, its exit code and what it prints. */
const REFUSED: [string, string[], number, RegExp][] = [
  [
    "a node that does not exist",
    ["volume", "attach", "VOLUME", "--node", "mars"],
    1,
    /node "mars" does not exist/,
  ],
  [
    "a node that is a path",
    ["ticket", "add", "VOLUME", "--node", "../a"],
    2,
    /node id "\.\.\/a" is not valid/,
  ],
  [
    "a volume that does not exist",
    ["volume", "attach", "v-none", "--node", "node-a"],
    1,
    /volume "v-none" does not exist/,
  ],
  ["a ticket id that is a path", ["ticket", "rm", "VOLUME", "a/b"], 2, /ticket id "a\/b" is not valid/],
  ["a time in weeks", ["ticket", "add", "VOLUME", "--node", "node-a", "--for", "5w"], 2, /write it like 30m/],
  ["no node at all", ["ticket", "add", "VOLUME"], 2, /--node/],
  ["an attachment that does not exist", ["why", "volumeattachment/v-none"], 1, /./],
];
for (const [what, args, exit, message] of sample(REFUSED, { everyday: 1 })) {
  test(`bad input on the command line: ${what}`, async () => {
    const { code, text } = await mooring(...args.map((arg) => (arg === "VOLUME" ? volume : arg)));
    assert.equal(code, exit, text);
    assert.match(text, message);
  });
}

test("when the Pod goes its ticket goes, and the volume is detached", async () => {
  await one.kubectl.run("delete", "pod", "user", "--wait=true");
  await detached();
  assert.deepEqual(await tickets(), {});
  await one.kubectl.run("delete", "pvc", "data");
  await eventually("the volume to be gone", async () => (await one.store.list(Volumes)).items.length === 0);
});
