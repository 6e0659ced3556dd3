// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the templates under test look like that

import assert from "node:assert/strict";
import { test } from "node:test";
import { covers } from "@mooring/store/testing";
import { STORAGE_CLASS_ROLES, secretReference, storageClassTokens } from "./references.ts";

const P = "csi.storage.k8s.io/";
const claim = { metadata: { name: "data", namespace: "team", annotations: { "team.example/key": "k1" } } };
const tokens = storageClassTokens("pvc-1234", claim);
const resolve = (role: keyof typeof STORAGE_CLASS_ROLES, parameters: Record<string, string>) =>
  secretReference(STORAGE_CLASS_ROLES[role], parameters, tokens);

const rows: [
  title: string,
  role: keyof typeof STORAGE_CLASS_ROLES,
  parameters: Record<string, string>,
  result: string | RegExp | undefined,
][] = [
  ["no keys", "provisioner", {}, undefined],
  [
    "own keys",
    "provisioner",
    { [`${P}provisioner-secret-name`]: "s", [`${P}provisioner-secret-namespace`]: "n" },
    "n/s",
  ],
  [
    "default keys serve every role",
    "nodeExpand",
    { [`${P}secret-name`]: "s", [`${P}secret-namespace`]: "n" },
    "n/s",
  ],
  [
    "own keys win over default keys",
    "nodeStage",
    {
      [`${P}secret-name`]: "s",
      [`${P}secret-namespace`]: "n",
      [`${P}node-stage-secret-name`]: "s2",
      [`${P}node-stage-secret-namespace`]: "n2",
    },
    "n2/s2",
  ],
  [
    "legacy keys",
    "provisioner",
    { csiProvisionerSecretName: "s", csiProvisionerSecretNamespace: "n" },
    "n/s",
  ],
  [
    "legacy and new keys exclude each other",
    "provisioner",
    {
      csiProvisionerSecretName: "s",
      csiProvisionerSecretNamespace: "n",
      [`${P}provisioner-secret-name`]: "s",
      [`${P}provisioner-secret-namespace`]: "n",
    },
    /exclude each other/,
  ],
  [
    "a name without a namespace",
    "controllerPublish",
    { [`${P}controller-publish-secret-name`]: "s" },
    /must both be set/,
  ],
  [
    "an empty value",
    "controllerPublish",
    { [`${P}controller-publish-secret-name`]: "", [`${P}controller-publish-secret-namespace`]: "n" },
    /must both be set/,
  ],
  [
    "templates",
    "nodePublish",
    {
      [`${P}node-publish-secret-name`]: "${pvc.name}-${pv.name}",
      [`${P}node-publish-secret-namespace`]: "${pvc.namespace}",
    },
    "team/data-pvc-1234",
  ],
  [
    "annotation template",
    "nodePublish",
    {
      [`${P}node-publish-secret-name`]: "${pvc.annotations['team.example/key']}",
      [`${P}node-publish-secret-namespace`]: "n",
    },
    "n/k1",
  ],
  [
    "a claim's name may not choose a namespace",
    "nodePublish",
    { [`${P}node-publish-secret-name`]: "s", [`${P}node-publish-secret-namespace`]: "${pvc.name}" },
    /invalid tokens: \["pvc.name"\]/,
  ],
  [
    "a result that is not a name",
    "provisioner",
    { [`${P}provisioner-secret-name`]: "Secret", [`${P}provisioner-secret-namespace`]: "n" },
    /not a secret name/,
  ],
];

for (const [title, role, parameters, result] of rows) {
  test(`secret reference: ${title}`, () => {
    covers("K8S-110");
    if (result instanceof RegExp) return assert.throws(() => resolve(role, parameters), result);
    const ref = resolve(role, parameters);
    return assert.equal(ref === undefined ? undefined : `${ref.namespace}/${ref.name}`, result);
  });
}
