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

const BOTH = /must both be set/;
const EXCLUDE = /exclude each other/;

/** Among them those of external-provisioner's TestGetSecretReference. */
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
  [
    "a namespace without a name",
    "controllerPublish",
    { [`${P}controller-publish-secret-namespace`]: "n" },
    BOTH,
  ],
  ["a legacy name without a namespace", "provisioner", { csiProvisionerSecretName: "s" }, BOTH],
  ["a legacy namespace without a name", "provisioner", { csiProvisionerSecretNamespace: "n" }, BOTH],
  [
    "a legacy name and a new one",
    "provisioner",
    { csiProvisionerSecretName: "s", [`${P}provisioner-secret-name`]: "s" },
    EXCLUDE,
  ],
  [
    "a legacy namespace and a new one",
    "provisioner",
    { csiProvisionerSecretNamespace: "n", [`${P}provisioner-secret-namespace`]: "n" },
    EXCLUDE,
  ],
  [
    "a legacy name and a new namespace",
    "provisioner",
    { csiProvisionerSecretName: "s", [`${P}provisioner-secret-namespace`]: "n" },
    EXCLUDE,
  ],
  [
    "a name with the name of the claim in it",
    "provisioner",
    { [`${P}provisioner-secret-name`]: "p-${pvc.name}", [`${P}provisioner-secret-namespace`]: "n" },
    "n/p-data",
  ],
  [
    "the namespace of the claim and a name as it is",
    "provisioner",
    { [`${P}provisioner-secret-name`]: "s", [`${P}provisioner-secret-namespace`]: "${pvc.namespace}" },
    "team/s",
  ],
  [
    "an annotation of the claim for the call that makes its volume",
    "provisioner",
    {
      [`${P}provisioner-secret-name`]: "${pvc.annotations['team.example/key']}",
      [`${P}provisioner-secret-namespace`]: "${pvc.namespace}",
    },
    "team/k1",
  ],
  [
    "an annotation that the claim has not",
    "nodePublish",
    {
      [`${P}node-publish-secret-name`]: "${pvc.annotations['team.example/other']}",
      [`${P}node-publish-secret-namespace`]: "n",
    },
    /invalid tokens/,
  ],
  [
    "a token that there is not, in a name",
    "nodePublish",
    { [`${P}node-publish-secret-name`]: "${bogus}", [`${P}node-publish-secret-namespace`]: "n" },
    /invalid tokens: \["bogus"\]/,
  ],
  [
    "an annotation may not choose a namespace",
    "nodePublish",
    {
      [`${P}node-publish-secret-name`]: "s",
      [`${P}node-publish-secret-namespace`]: "${pvc.annotations['team.example/key']}",
    },
    /invalid tokens/,
  ],
  [
    "a namespace that is not one",
    "provisioner",
    { [`${P}provisioner-secret-name`]: "s", [`${P}provisioner-secret-namespace`]: "Bad.Name" },
    /not a namespace name/,
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
