// What a node may write into a group snapshot: how far its own part of the barrier is.
import assert from "node:assert/strict";

const OWN_PART = /a node reports its own part of a barrier only/;
const KIND = "groupsnapshots.storage.mooring.dev";
const NAME = "policy-group";

/** `send(config, object, ...args)` gives kubectl an object. Returns how many writes were refused, each with its reason. */
export async function groupPolicies({ kubectl, admin, config, node, send }) {
  const part = (phase) => ({ attempt: 1, phase });
  const before = {
    ...{ state: "quiescing", attempt: 1, readyToUse: false },
    nodes: { "another-node": part("prepared"), [node]: part("prepared") },
  };
  await send(
    admin,
    {
      ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "GroupSnapshot", metadata: { name: NAME } },
      spec: { members: [{ volume: "v-a", snapshot: "s-a", pool: "policy-both" }] },
    },
    "apply",
  );
  const write = async (as, status) => {
    const now = JSON.parse(await kubectl("get", KIND, NAME, "-o", "json"));
    await send(as, { ...now, status }, "replace", "--subresource=status");
  };
  await write(admin, before);
  const { [node]: own, ...others } = before.nodes;
  const refused = [
    { ...before, nodes: { ...before.nodes, "another-node": part("quiesced") } },
    { ...before, nodes: { ...before.nodes, "third-node": part("done") } },
    { ...before, nodes: { [node]: own } },
    { ...before, nodes: undefined },
    { ...before, state: "committed" },
    { ...before, readyToUse: true },
    { ...before, creationTime: "2026-01-01T00:00:00.000Z" },
    {},
  ];
  for (const status of refused) await assert.rejects(write(config, status), OWN_PART, JSON.stringify(status));
  await write(config, { ...before, nodes: { ...others, [node]: part("quiesced") } });
  await kubectl("delete", KIND, NAME);
  return refused.length;
}
