// Which Leases a node may write: its role gives it all of kube-system, where those of the control plane's processes are as well.
import assert from "node:assert/strict";

const IN = { namespace: "kube-system" };
const IMAGE = "v-policy";
const ofImage = (image, labelled = image) => ({
  ...{ ...IN, name: `mooring-image-${image}`, labels: { "storage.mooring.dev/image": labelled } },
});
/** As an agent marks one that it takes from another. */
const takenFrom = (metadata, holder) => ({
  ...metadata,
  annotations: { "storage.mooring.dev/taken-from": holder },
});
const lease = (metadata, holderIdentity) => ({
  ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata },
  spec: { holderIdentity, leaseDurationSeconds: 15 },
});
const OWNER = { apiVersion: "v1", kind: "ConfigMap", name: "none", uid: "0" };
const LEADER = { ...IN, name: "policy-leader" };
const ANOTHER = "another-node_1";
const HELD = /a node changes no lease that another one holds/;
const NOT_OF_AN_IMAGE = /a node writes leases of images only/;

/** `send(config, object, ...args)` gives kubectl an object. Returns how many writes were refused, each with its reason. */
export async function leasePolicies({ kubectl, admin, config, node, send }) {
  const own = lease(ofImage(IMAGE), `${node}_1`);
  const taken = lease(takenFrom(ofImage(IMAGE), ANOTHER), `${node}_1`);
  await send(admin, lease(LEADER, "leader_1"), "apply");
  await send(admin, lease(ofImage(IMAGE), ANOTHER), "apply");
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
    ["replace", own, HELD],
    ["replace", lease(ofImage(IMAGE), ""), HELD],
    ["replace", lease({ ...ofImage(IMAGE), ownerReferences: [OWNER] }, ANOTHER), HELD],
    ["delete", own, HELD],
    [
      "replace",
      lease({ ...takenFrom(ofImage(IMAGE), ANOTHER), finalizers: ["example.com/for-ever"] }, `${node}_1`),
      /a node does not say what keeps a lease/,
    ],
  ];
  for (const [verb, object, why] of refused)
    await assert.rejects(send(config, object, verb), why, `${verb} ${JSON.stringify(object)}`);
  await send(config, taken, "replace");
  await send(config, own, "replace");
  await send(config, lease(ofImage(IMAGE), ""), "replace");
  await send(config, own, "delete");
  await send(config, own, "create");
  for (const { name } of [LEADER, ofImage(IMAGE)]) await kubectl("-n", IN.namespace, "delete", "lease", name);
  return refused.length;
}
