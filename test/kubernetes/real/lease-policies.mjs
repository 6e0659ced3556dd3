// Which Leases a node may write: its role gives it all of kube-system, where those of the control plane's processes are as well.
import assert from "node:assert/strict";

const IN = { namespace: "kube-system" };
const IMAGE = "v-policy";
const ofImage = (image, labelled = image) => ({
  ...{ ...IN, name: `mooring-image-${image}`, labels: { "storage.mooring.dev/image": labelled } },
});
const lease = (metadata, holderIdentity) => ({
  ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata },
  spec: { holderIdentity, leaseDurationSeconds: 15 },
});
const LEADER = { ...IN, name: "policy-leader" };
const NOT_OF_AN_IMAGE = /a node writes leases of images only/;

/** `send(config, object, ...args)` gives kubectl an object. Returns how many writes were refused, each with its reason. */
export async function leasePolicies({ kubectl, admin, config, node, send }) {
  const taken = lease(ofImage(IMAGE), `${node}_1`);
  await send(admin, lease(LEADER, "leader_1"), "apply");
  await send(admin, lease(ofImage(IMAGE), "another-node_1"), "apply");
  const refused = [
    ["replace", lease(LEADER, `${node}_1`), NOT_OF_AN_IMAGE],
    ["replace", lease({ ...LEADER, labels: { "storage.mooring.dev/image": "leader" } }, ""), NOT_OF_AN_IMAGE],
    ["delete", lease(LEADER, ""), NOT_OF_AN_IMAGE],
    ["create", lease({ ...IN, name: "policy-new" }, `${node}_1`), NOT_OF_AN_IMAGE],
    ["create", lease({ ...IN, name: "mooring-image-v-a" }, `${node}_1`), NOT_OF_AN_IMAGE],
    ["create", lease(ofImage("v-a", "v-b"), `${node}_1`), NOT_OF_AN_IMAGE],
    ["create", lease(ofImage("v-new"), "third-node_1"), /only itself may a node make the holder of a lease/],
    ["replace", lease(ofImage(IMAGE), "third-node_1"), /only itself may a node make the holder of a lease/],
    [
      "replace",
      lease(ofImage(IMAGE), `${node}-other_1`),
      /only itself may a node make the holder of a lease/,
    ],
    [
      "replace",
      lease({ ...ofImage(IMAGE), finalizers: ["example.com/for-ever"] }, `${node}_1`),
      /a node does not say what keeps a lease/,
    ],
  ];
  for (const [verb, object, why] of refused)
    await assert.rejects(send(config, object, verb), why, `${verb} ${JSON.stringify(object)}`);
  await send(config, taken, "replace");
  await send(config, lease(ofImage(IMAGE), ""), "replace");
  await send(config, taken, "delete");
  await send(config, taken, "create");
  for (const { name } of [LEADER, ofImage(IMAGE)]) await kubectl("-n", IN.namespace, "delete", "lease", name);
  return refused.length;
}
