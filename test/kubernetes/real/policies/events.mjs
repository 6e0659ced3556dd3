// Which Events a node may write: its role gives it all, in every namespace.
import assert from "node:assert/strict";

const NOT_ITS_OWN = /a node reports events of its own only/;

const event = (name, reporter, host, more = {}) => ({
  ...{ apiVersion: "v1", kind: "Event", metadata: { namespace: "default", name: `policy-${name}`, ...more } },
  involvedObject: { apiVersion: "v1", kind: "Node", name: "policy-writer" },
  ...{ type: "Warning", reason: "Policy", message: "", count: 1 },
  ...{ source: { component: reporter, host }, reportingComponent: reporter, reportingInstance: host },
});

/** `send(config, object, ...args)` gives kubectl an object. Returns how many writes were refused, each with its reason. */
export async function eventPolicies({ kubectl, admin, config, node, send }) {
  const driver = "csi.mooring.dev";
  const own = event("own", driver, node);
  const foreign = [event("kubelet", "kubelet", node), event("other-node", driver, "another-node")];
  for (const each of foreign) await send(admin, each, "create");
  const patch = ["patch", "--type=merge", "-p", JSON.stringify({ message: "all is well", count: 2 })];
  const refused = [
    ...foreign.map((each) => [each, ...patch]),
    [event("new", "kubelet", node), "create"],
    [event("new", driver, "another-node"), "create"],
    [event("new", driver, node, { finalizers: ["example.com/for-ever"] }), "create"],
  ];
  for (const [object, ...args] of refused)
    await assert.rejects(send(config, object, ...args), NOT_ITS_OWN, `${args[0]} ${JSON.stringify(object)}`);
  await send(config, own, "create");
  await send(config, own, ...patch);
  const taken = ["patch", "--type=merge", "-p", JSON.stringify({ reportingInstance: "another-node" })];
  await assert.rejects(send(config, own, ...taken), NOT_ITS_OWN);
  for (const { metadata } of [own, ...foreign])
    await kubectl("-n", metadata.namespace, "delete", "event", metadata.name);
  return refused.length + 1;
}
