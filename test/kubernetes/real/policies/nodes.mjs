// Which volumes of others a node may write the status of: with tokens as nodes have them, on a real API server, which alone decides
// by the policies of the chart. Nothing of Mooring runs.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { eventPolicies } from "./events.mjs";
import { groupPolicies } from "./groups.mjs";
import { leasePolicies } from "./leases.mjs";

const execute = promisify(execFile);
const OURS = { apiVersion: "storage.mooring.dev/v1alpha1" };
const PREFIX = "policy";
const [LOST, TYPED, ALIVE, WRITER] = ["lost", "typed", "alive", "writer"].map((name) => `${PREFIX}-${name}`);

/** `proven`: by whoever found that it cannot write, not by somebody who typed the state. */
const agent = (name, state, proven = false) => ({
  object: { ...OURS, kind: "NodeAgent", metadata: { name }, spec: {} },
  status: {
    state,
    conditions: proven
      ? [
          {
            type: "Fenced",
            status: "True",
            reason: "LeasesLost",
            message: "",
            lastTransitionTime: "2026-01-01T00:00:00Z",
          },
        ]
      : [],
  },
});

const pool = (name, spec, nodes) => ({
  object: { ...OURS, kind: "Pool", metadata: { name: `${PREFIX}-${name}` }, spec: { type: "xfs", ...spec } },
  status: { ready: true, nodes },
});

const volume = (name, poolName, owner) => ({
  object: {
    ...{ ...OURS, kind: "Volume", metadata: { name: `${PREFIX}-${name}` } },
    spec: { size: 2 ** 20, pool: `${PREFIX}-${poolName}`, volumeMode: "Block", accessMode: "rwo" },
  },
  status:
    owner === undefined ? { state: "creating" } : { state: "attached", currentNodeID: owner, ownerID: owner },
});

const WORLD = [
  agent(LOST, "Fenced", true),
  agent(TYPED, "Fenced"),
  agent(ALIVE, "Ready"),
  agent(WRITER, "Ready"),
  pool("both", { mode: "shared", path: "/mnt/both" }, [LOST, TYPED, ALIVE, WRITER]),
  pool("far", { mode: "shared", path: "/mnt/far" }, [LOST]),
  pool(
    "ceph",
    { type: "rbd", mode: "shared", path: "/etc/ceph.conf", rbd: { user: "theirs", pool: "images" } },
    [LOST],
  ),
  pool("local", { nodeID: LOST, path: "/mnt/local" }, []),
  pool("mine", { nodeID: WRITER, path: "/mnt/mine" }, []),
  volume("free", "both", LOST),
  volume("of-typed", "both", TYPED),
  volume("of-alive", "both", ALIVE),
  volume("far", "far", LOST),
  volume("local", "local", LOST),
  volume("unmade", "both"),
  volume("unmade-mine", "mine"),
  volume("unmade-far", "far"),
  volume("unmade-local", "local"),
];

const DETACHED = { state: "detached", currentNodeID: "" };
const MADE = { state: "detached", ownerID: WRITER };
/** That a volume was mounted anew there. */
const remounted = (...nodes) => Object.fromEntries(nodes.map((node) => [node, "2026-01-01T00:00:00.000Z"]));
/** By volume: what the writing node makes of it, and why it must not; the same volume may be free for another status. */
const CASES = [
  ["of-typed", DETACHED, new RegExp(`it is on node ${TYPED}, which is not fenced`)],
  ["of-alive", DETACHED, new RegExp(`it is on node ${ALIVE}, which is not fenced`)],
  ["far", DETACHED, new RegExp(`${WRITER} does not have pool ${PREFIX}-far`)],
  ["local", DETACHED, new RegExp(`${WRITER} does not have pool ${PREFIX}-local`)],
  ["unmade-far", MADE, new RegExp(`${WRITER} does not have pool ${PREFIX}-far`)],
  ["unmade-local", MADE, new RegExp(`${WRITER} does not have pool ${PREFIX}-local`)],
  ["of-alive", { remounted: remounted(ALIVE) }, new RegExp(`it is on node ${ALIVE}, which is not fenced`)],
  ["of-alive", { ...DETACHED, remounted: remounted(WRITER) }, new RegExp(`it is on node ${ALIVE}`)],
  ["of-alive", { remounted: remounted(WRITER) }, undefined],
  ["far", { remounted: remounted(WRITER) }, undefined],
  [
    "local",
    { remounted: remounted(WRITER, ALIVE) },
    new RegExp(`${WRITER} does not have pool ${PREFIX}-local`),
  ],
  ["local", { remounted: remounted(WRITER) }, undefined],
  ["unmade", MADE, undefined],
  ["unmade-mine", MADE, undefined],
  ["free", { ...DETACHED, ownerID: ALIVE }, /only itself may a node write as the holder/],
  ["free", { ...DETACHED, ownerID: WRITER }, undefined],
];

const OWNER = { apiVersion: "v1", kind: "ConfigMap", name: "none", uid: "0" };
const NOT_WHOSE = /does not say whose an object is, nor what keeps it/;
/** By volume: what the writing node makes of its metadata, and why it must not. */
const METADATA_CASES = [
  ["free", { ownerReferences: [OWNER] }, NOT_WHOSE],
  ["free", { finalizers: ["example.com/for-ever"] }, NOT_WHOSE],
  ["free", { finalizers: ["storage.mooring.dev/engine"] }, undefined],
  ["free", { finalizers: [] }, undefined],
  ["unmade-local", { labels: { backup: "no" } }, /does not have pool/],
  ["unmade-far", { finalizers: ["storage.mooring.dev/engine"] }, /does not have pool/],
];

/** Shared pools that the writing node makes. */
const POOLS_MADE = [
  [{ ownerReferences: [OWNER] }, NOT_WHOSE],
  [{ finalizers: ["example.com/for-ever"] }, NOT_WHOSE],
  [{}, undefined],
];

const OF_OTHERS = /does not change a pool that others have as well/;
const HAS_IT_NOT = /does not have this pool, others do/;
/** As a node reports that it could not open a pool which others have. */
const NOT_HERE = {
  ...{ type: "Ready", status: "True", reason: "UNAVAILABLE", message: `on node ${WRITER}: no such folder` },
  lastTransitionTime: "2026-01-01T00:00:00Z",
};
/** What the writing node makes of shared pools, whether it has them or not, and why it must not. */
const POOL_CASES = [
  ["both", { spec: { path: "/mnt/mine" } }, OF_OTHERS],
  ["far", { spec: { path: "/mnt/mine" } }, OF_OTHERS],
  ["both", { spec: { reserve: 1 } }, OF_OTHERS],
  ["ceph", { spec: { rbd: { user: "mine", pool: "images" } } }, OF_OTHERS],
  ["ceph", { metadata: { finalizers: ["storage.mooring.dev/engine"] } }, undefined],
  ["far", { metadata: { labels: { backup: "no" } } }, OF_OTHERS],
  ["both", { metadata: { annotations: { "storage.mooring.dev/asked-size": "1" } } }, OF_OTHERS],
  ["far", { status: { ready: false, nodes: [LOST] } }, HAS_IT_NOT],
  ["far", { status: { ready: true, nodes: [LOST], freeBytes: 1 } }, HAS_IT_NOT],
  ["far", { status: { ready: true, nodes: [LOST], conditions: [NOT_HERE] } }, undefined],
  ["both", { status: { nodes: [WRITER] } }, /reports only of itself that it has a pool/],
  ["far", { status: { ready: true, nodes: [LOST, ALIVE] } }, /reports only of itself that it has a pool/],
  ["ceph", { status: { ready: true, nodes: [LOST, WRITER] } }, undefined],
  ["local", { spec: { overcommit: 9 } }, /a local pool is written by its own node only/],
  // By the kind's own rules: to the policy it would be everybody's then.
  ["local", { spec: { mode: "shared", nodeID: undefined } }, /mode is immutable/],
];

const plural = ({ kind }) => `${kind.toLowerCase()}s.storage.mooring.dev`;

export async function nodePoliciesStep(cluster, say) {
  const send = async (config, object, ...args) => {
    const sent = execute("kubectl", ["--kubeconfig", config, ...args, "-f", "-"]);
    sent.child.stdin.end(JSON.stringify(object));
    await sent;
  };
  // Not by `apply`: what kubectl notes of that would be a change of an annotation in each later `replace`.
  const create = (object) => send(cluster.admin, object, "create");
  const read = async (object) =>
    JSON.parse(await cluster.kubectl("get", plural(object), object.metadata.name, "-o", "json"));
  const writeStatus = async (config, object, status) => {
    await send(config, { ...(await read(object)), status }, "replace", "--subresource=status");
  };
  const changePool = async (config, name, { metadata, spec, status }) => {
    const now = await read({ kind: "Pool", metadata: { name: `${PREFIX}-${name}` } });
    if (status !== undefined) return writeStatus(config, now, status);
    const changed = { metadata: { ...now.metadata, ...metadata }, spec: { ...now.spec, ...spec } };
    return send(config, { ...now, ...changed }, "replace");
  };
  for (const { object, status } of WORLD) {
    await create(object);
    await writeStatus(cluster.admin, object, status);
  }
  await create({ apiVersion: "v1", kind: "Node", metadata: { name: WRITER } });
  const bound = ["--bound-object-kind=Node", `--bound-object-name=${WRITER}`];
  const token = await cluster.kubectl("-n", "mooring", "create", "token", "mooring-node", ...bound);
  const config = await cluster.pki.withToken(WRITER, token.trim());
  const volumes = WORLD.filter(({ object }) => object.kind === "Volume");
  for (const [name, status, refused] of CASES) {
    const { object, status: before } = volumes.find(
      (each) => each.object.metadata.name === `${PREFIX}-${name}`,
    );
    const written = writeStatus(config, object, { ...before, ...status });
    if (refused === undefined) await written;
    else await assert.rejects(written, refused, `${name}: ${JSON.stringify(status)}`);
  }
  for (const [name, metadata, refused] of METADATA_CASES) {
    const now = await read({ kind: "Volume", metadata: { name: `${PREFIX}-${name}` } });
    const written = send(config, { ...now, metadata: { ...now.metadata, ...metadata } }, "replace");
    if (refused === undefined) await written;
    else await assert.rejects(written, refused, `${name}: ${JSON.stringify(metadata)}`);
  }
  const made = pool("made", { mode: "shared", path: "/mnt/made" }, []).object;
  for (const [metadata, refused] of POOLS_MADE) {
    const written = send(config, { ...made, metadata: { ...made.metadata, ...metadata } }, "create");
    if (refused === undefined) await written;
    else await assert.rejects(written, refused, JSON.stringify(metadata));
  }
  for (const [name, change, refused] of POOL_CASES) {
    const written = changePool(config, name, change);
    if (refused === undefined) await written;
    else await assert.rejects(written, refused, `${name}: ${JSON.stringify(change)}`);
  }
  const { kubectl, admin } = cluster;
  const common = { kubectl, admin, config, node: WRITER, send };
  const leases = await leasePolicies(common);
  const elsewhere = leases + (await eventPolicies(common)) + (await groupPolicies(common));
  await changePool(cluster.admin, "both", { spec: { reserve: 1 } });
  // As nothing of Mooring runs, nothing takes its finalizer away.
  await changePool(cluster.admin, "ceph", { metadata: { finalizers: [] } });
  for (const { object } of [...WORLD, { object: made }])
    await cluster.kubectl("delete", plural(object), object.metadata.name);
  await cluster.kubectl("delete", "node", WRITER);
  const refusals = [...CASES, ...METADATA_CASES, ...POOLS_MADE, ...POOL_CASES].filter(
    (each) => each.at(-1) !== undefined,
  ).length;
  say(
    `policies: a node writes what a fenced one has left in a pool of both, and ${refusals + elsewhere} other writes are refused, of shared pools' settings and of ${leases} Leases among them`,
  );
}
