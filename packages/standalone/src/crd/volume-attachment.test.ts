import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import {
  type AttachmentTicket,
  ticketStatus,
  type VolumeAttachment,
  VolumeAttachments,
  Volumes,
} from "@mooring/engine";
import { covers, everyday, thorough } from "@mooring/store/testing";
import { parseAllDocuments } from "yaml";
import type { HttpResponse, KubeBody } from "../apiserver/testing/http-client.ts";
import { mustRun, programs, type Ran, type Run, runner } from "../apiserver/testing/kubectl.ts";
import { startVolumeServer, type VolumeServer } from "../apiserver/testing/volumes.ts";
import { compile } from "../schema/cel/environment.ts";

const KIND = "volumeattachments.storage.mooring.dev";

let server: VolumeServer;
let run: Run;
let kubectl: ReturnType<typeof mustRun>;
before(async () => {
  server = await startVolumeServer();
  run = runner((await programs()).kubectl, { folder: server.folder, kubeconfig: server.api.kubeconfig });
  kubectl = mustRun(run);
  await server.until((a) => a !== undefined);
});
after(() => server.stop());

const owner = { apiVersion: "storage.mooring.dev/v1alpha1", kind: "Volume", name: "v-1" };
const operatorTicket = (more: object = {}) => ({
  ...{ id: "t", type: "longhorn-api", nodeID: "a", parameters: { lastAttachedBy: "ann" } },
  ...more,
});

/** What `kubectl patch` and `kubectl create` send, and the message that they print, without a process for each. */
const PATH = "/apis/storage.mooring.dev/v1alpha1/volumeattachments";
const shown = ({ status, text, json }: HttpResponse<KubeBody>): Ran =>
  status < 300 ? { code: 0, stdout: text, stderr: "" } : { code: 1, stdout: "", stderr: json.message };
const patch = async (body: object, more = "", path = `${PATH}/v-1`) =>
  shown(await server.http.patch(`${path}${more}`, "merge-patch+json", body));
const create = async (object: object) => shown(await server.http.post(PATH, object));

const put = (key: string, ticket: object | null) => patch({ spec: { attachmentTickets: { [key]: ticket } } });
const clear = async () => {
  const { spec } = await server.store.get(VolumeAttachments, { name: "v-1" });
  const tickets = Object.keys(spec.attachmentTickets ?? {});
  for (const id of tickets) assert.equal((await put(id, null)).code, 0);
  await server.volume((v) => v.status?.state === "detached" && (v.spec.nodeID ?? "") === "");
};

/** What is wrong with a ticket, under which key it is put, and what the API server replies. */
const REFUSED: [string, string, object, RegExp][] = [
  ["a key that is not its id", "other", operatorTicket(), /the key of a ticket must equal its id/],
  [
    "an unknown type",
    "t",
    operatorTicket({ type: "magic" }),
    /Unsupported value: "magic": supported values: "csi-attacher"/,
  ],
  [
    "an id with a slash",
    "a/b",
    operatorTicket({ id: "a/b" }),
    /attachmentTickets\[a\/b\]\.id: Invalid value/,
  ],
  ["an empty id", "", operatorTicket({ id: "" }), /id: Invalid value|should be at least 1 chars/],
  [
    "an id of 300 characters",
    "x".repeat(300),
    operatorTicket({ id: "x".repeat(300) }),
    /Too long: may not be more than 253/,
  ],
  ["a node that is a path", "t", operatorTicket({ nodeID: "../a" }), /nodeID: Invalid value: "\.\.\/a"/],
  ["no node", "t", operatorTicket({ nodeID: "" }), /nodeID: Invalid value/],
  ["no holder", "t", operatorTicket({ parameters: {} }), /names its holder in parameters\.lastAttachedBy/],
  [
    "a front end of both kinds",
    "t",
    operatorTicket({ parameters: { lastAttachedBy: "a", disableFrontend: "both" } }),
    /true, false or any/,
  ],
  [
    "a controller's ticket without an owner",
    "t",
    { id: "t", type: "backup-controller", nodeID: "a" },
    /may be without an owner/,
  ],
  [
    "an owner that nobody watches",
    "t",
    {
      id: "t",
      type: "backup-controller",
      nodeID: "a",
      owner: { apiVersion: "v1", kind: "Secret", name: "s" },
    },
    /of no kind that tickets may die with/,
  ],
  ["an end that is no time", "t", operatorTicket({ expiresAt: "soon" }), /expiresAt: Invalid value: "soon"/],
  ["a number below zero", "t", operatorTicket({ generation: -1 }), /generation: Invalid value: -1/],
];
for (const [what, key, ticket, message] of REFUSED) {
  test(`${what} is refused`, everyday(), async () => {
    covers("LHA-078");
    const { code, stderr } = await put(key, ticket);
    assert.equal(code, 1);
    assert.match(stderr, message);
  });
}

test("every type of the design is taken, and no other", everyday(), async () => {
  covers("LHA-010", "LHA-079");
  const types = ["csi-attacher", "longhorn-api", "snapshot-controller", "backup-controller"].concat(
    [
      "volume-clone-controller",
      "salvage-controller",
      "share-manager-controller",
      "volume-restore-controller",
    ],
    [
      "volume-eviction-controller",
      "volume-expansion-controller",
      "bim-ds-controller",
      "volume-rebuilding-controller",
    ],
  );
  for (const type of types) {
    const { code, stderr } = await patch(
      { spec: { attachmentTickets: { t: { ...operatorTicket({ type }), owner } } } },
      "?dryRun=All",
    );
    assert.equal(code, 0, stderr);
  }
});

test("the volume of an object is its name and stays so", everyday(), async () => {
  covers("LHA-006", "LHA-081");
  assert.match((await patch({ spec: { volume: "v-2" } })).stderr, /volume is immutable|name of its volume/);
  const other = {
    apiVersion: owner.apiVersion,
    kind: "VolumeAttachment",
    metadata: { name: "v-9" },
    spec: { volume: "v-1" },
  };
  assert.match((await create(other)).stderr, /the object must have the name of its volume/);
  const { metadata } = await server.store.get(VolumeAttachments, { name: "v-1" });
  assert.deepEqual(metadata.labels, { "storage.mooring.dev/volume": "v-1" });
});

test("an object for a volume that does not exist is removed again", everyday(), async () => {
  const lost = {
    apiVersion: owner.apiVersion,
    kind: "VolumeAttachment",
    metadata: { name: "v-lost" },
    spec: { volume: "v-lost" },
  };
  assert.equal((await create(lost)).code, 0);
  await server.until((a) => a === undefined, "v-lost");
});

test(
  "a ticket written with kubectl is numbered, satisfied and shown in the columns",
  everyday(),
  async () => {
    const body = { spec: { attachmentTickets: { t: operatorTicket({ generation: 9_000_000 }) } } };
    await kubectl(["patch", KIND, "v-1", "--type=merge", "-p", JSON.stringify(body)]);
    const attached = await server.until((a) => a !== undefined && ticketStatus(a, "t")?.satisfied === true);
    assert.ok((attached?.spec.attachmentTickets?.t?.generation ?? 0) < 1000);
    assert.match(
      await kubectl(["get", KIND]),
      /^NAME +VOLUME +NODE +STATE +SATISFIED +WAITING +HOLDER +AGE\nv-1 +v-1 +a +attached +1 +0 +ann +\d+s/,
    );
    assert.match(
      await kubectl(["describe", KIND, "v-1"]),
      /Attached +\S+ +mooring-arbiter +ticket "t" \(longhorn-api\): attached to node "a"/,
    );
  },
);

test("a second operator does not take the first one's ticket by writing over it", everyday(), async () => {
  const { code, stderr } = await put(
    "t",
    operatorTicket({ nodeID: "b", parameters: { lastAttachedBy: "bob" } }),
  );
  assert.equal(code, 1);
  assert.match(stderr, /a ticket stays its holder's/);
});

test("neither the type of a ticket nor node and front end of a CSI ticket change", everyday(), async () => {
  assert.match(
    (await put("t", operatorTicket({ type: "csi-attacher", owner }))).stderr,
    /the type of a ticket is immutable/,
  );
  assert.equal((await put("c", { id: "c", type: "csi-attacher", nodeID: "a", owner })).code, 0);
  assert.match((await put("c", { nodeID: "b" })).stderr, /node of a csi-attacher ticket is immutable/);
  const hidden = await put("c", { parameters: { disableFrontend: "true" } });
  assert.match(hidden.stderr, /front end of a csi-attacher ticket is immutable/);
  assert.equal((await put("c", { parameters: { disableFrontend: "false", lastAttachedBy: "csi" } })).code, 0);
  assert.equal((await put("c", null)).code, 0);
});

test(
  "a ticket that is edited, or applied again as it was, gets a new number: no old result counts for it",
  everyday(),
  async () => {
    await server.until((a) => a !== undefined && ticketStatus(a, "t")?.satisfied === true);
    const saved = await server.store.get(VolumeAttachments, { name: "v-1" });
    const write = async (ticket: object | null): Promise<VolumeAttachment> => {
      const ran = await patch({ spec: { attachmentTickets: { t: ticket } } });
      assert.equal(ran.code, 0, ran.stderr);
      return JSON.parse(ran.stdout) as VolumeAttachment;
    };
    let last = saved.spec.attachmentTickets?.t?.generation ?? 0;
    const steps: [object | null, string][] = [
      [{ nodeID: "b" }, "b"],
      [saved.spec.attachmentTickets?.t ?? {}, "a"],
      [{ parameters: { disableFrontend: "true" } }, "a"],
      [{ parameters: { disableFrontend: null } }, "a"],
      [{ generation: 1 }, "a"],
    ];
    for (const [ticket, nodeID] of steps) {
      const edited = await write(ticket);
      // The reply is the object as it was written: the arbiter has not seen it yet.
      assert.equal(ticketStatus(edited, "t"), undefined);
      const now = await server.until((a) => a !== undefined && ticketStatus(a, "t")?.satisfied === true);
      const { generation = 0 } = now?.spec.attachmentTickets?.t ?? {};
      assert.ok(generation > last, `number ${generation} after ${last}`);
      assert.equal((await server.volume((v) => v.status?.state === "attached")).spec.nodeID, nodeID);
      last = generation;
    }
    await write(null);
    await server.until((a) => a?.status?.attachmentTicketStatuses?.t === undefined);
    await write({ ...saved.spec.attachmentTickets?.t, generation: last });
    const back = await server.until((a) => a !== undefined && ticketStatus(a, "t")?.satisfied === true);
    assert.ok((back?.spec.attachmentTickets?.t?.generation ?? 0) > last);
  },
);

test(
  "a ticket for a node that does not exist waits and reports why, and takes nothing away",
  everyday(),
  async () => {
    assert.equal((await put("lost", operatorTicket({ id: "lost", nodeID: "mars" }))).code, 0);
    await server.until((a) =>
      (a?.status?.attachmentTicketStatuses?.lost?.conditions[0]?.message ?? "").includes(
        'there is no node "mars"',
      ),
    );
    const { spec } = await server.volume(() => true);
    assert.equal(spec.nodeID, "a");
    assert.equal((await put("lost", null)).code, 0);
  },
);

test("a status written by hand is put right", everyday(), async () => {
  const lie: Record<string, Partial<AttachmentTicket> & object> = { orphaned: { id: "other" } };
  const body = {
    status: {
      holder: "me",
      satisfied: 7,
      attachmentTicketStatuses: { ...lie, orphaned: { id: "other", satisfied: true } },
    },
  };
  assert.equal((await patch(body, "/status")).code, 0);
  await server.until((a) => a?.status?.holder === "ann" && a.status.satisfied === 1);
  const healed = await server.until((a) => a?.status?.attachmentTicketStatuses?.orphaned === undefined);
  assert.equal(ticketStatus(healed as VolumeAttachment, "t")?.satisfied, true);
});

test(
  "where a volume is wanted is the arbiter's to write: clearing it by hand is refused",
  everyday(),
  async () => {
    const path = "/apis/storage.mooring.dev/v1alpha1/volumes/v-1";
    const { code, stderr } = await patch({ spec: { nodeID: "" } }, "", path);
    assert.equal(code, 1);
    assert.match(stderr, /change tickets instead \(mooring ticket\)/);
  },
);

test(
  "deleting the object is refused while its volume lives, alone and with all others",
  thorough(),
  async () => {
    const before = await server.until((a) => a !== undefined);
    for (const which of [["v-1"], ["--all"], ["-l", "storage.mooring.dev/volume=v-1"]]) {
      const { code, stderr } = await run(["delete", KIND, ...which, "--wait=false"]);
      assert.equal(code, 1);
      assert.match(
        stderr,
        /is forbidden: the tickets of a volume stay as long as the volume: .*mooring ticket rm v-1/,
      );
    }
    const whole = await run(["delete", "--raw", "/apis/storage.mooring.dev/v1alpha1/volumeattachments"]);
    assert.match(whole.stderr, /stay as long as the volume/);
    const after = await server.until((a) => a !== undefined);
    assert.equal(after?.metadata.uid, before?.metadata.uid);
    assert.equal(after?.metadata.deletionTimestamp, undefined);
  },
);

test("an object without volume, and one of an earlier volume, may be deleted", thorough(), async () => {
  const { metadata, ...volume } = await server.volume((v) => v.metadata.name === "v-1");
  const attachment = { apiVersion: volume.apiVersion, kind: "VolumeAttachment" };
  for (const name of ["v-left", "v-again"]) {
    const ownerReferences = [{ ...owner, name, uid: "earlier" }];
    const finalizers = ["example.com/kept"];
    const object = { ...attachment, metadata: { name, ownerReferences, finalizers }, spec: { volume: name } };
    await server.store.create(VolumeAttachments, object);
  }
  const { nodeID: _, lastAttachedBy: __, ...spec } = volume.spec;
  await server.store.create(Volumes, { ...volume, metadata: { name: "v-again" }, spec });
  for (const name of ["v-left", "v-again"]) {
    await kubectl(["delete", KIND, name, "--wait=false"]);
    const free = JSON.stringify([{ op: "remove", path: "/metadata/finalizers" }]);
    // The arbiter may have done it meanwhile.
    await run(["patch", KIND, name, "--type=json", "-p", free]);
  }
});

test("the policy for clusters refuses the same", everyday(), async () => {
  const file = new URL(
    "../../../../deploy/admission/storage.mooring.dev_volumeattachments.yaml",
    import.meta.url,
  );
  const [policy] = parseAllDocuments(await readFile(file, "utf8")).map((document) => document.toJS());
  const [{ expression }] = policy.spec.validations as [{ expression: string }];
  // The rules of this API server have two variables, too, and other names for them.
  const rule = compile(expression.replaceAll("oldObject", "self").replaceAll("params", "oldSelf"));
  const allowed = (self: object, volume: object) => rule.evaluate({ self, oldSelf: { metadata: volume } });
  const of = (...owners: object[]) => ({ spec: { volume: "v" }, metadata: { ownerReferences: owners } });
  const mine = { kind: "Volume", uid: "1" };
  const volume = { name: "v", uid: "1" };
  assert.equal(allowed(of(mine), volume), false);
  assert.equal(allowed({ spec: { volume: "v" }, metadata: {} }, volume), false, "its owner was taken away");
  assert.equal(allowed(of(mine), { ...volume, name: "w" }), true);
  assert.equal(allowed(of(mine), { ...volume, deletionTimestamp: "2026-01-01T00:00:00Z" }), true);
  assert.equal(allowed(of({ ...mine, uid: "0" }), volume), true);
});

test(
  "an object that was deleted after all takes no device away: it waits for its tickets and is made again",
  everyday(),
  async () => {
    const before = await server.until((a) => a !== undefined);
    await server.store.delete(VolumeAttachments, { name: "v-1" });
    await server.until((a) => a?.metadata.deletionTimestamp !== undefined);
    assert.equal((await server.volume(() => true)).status?.state, "attached");
    assert.match(await kubectl(["describe", KIND, "v-1"]), /DeletionWaits/);
    await clear();
    await server.until((a) => a !== undefined && a.metadata.uid !== before?.metadata.uid);
  },
);
