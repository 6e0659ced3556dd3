// Who reads the secrets of volumes, and who chooses them: a node only those of volumes whose pods it runs, and the administrator of a
// namespace chooses none, as classes and PersistentVolumes are not his. A real API server alone decides that; nothing of Mooring runs.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Kube } from "./support/kube.mjs";
import { until } from "./support/program.mjs";

const execute = promisify(execFile);
const NAMESPACE = "tenant";
const [HERE, THERE] = ["tenant-here", "tenant-there"];
const SECRETS = ["for-staging", "for-publishing"];
const named = (kind, name, more = {}) => ({
  ...{ apiVersion: "v1", kind, metadata: { name, namespace: NAMESPACE } },
  ...more,
});
const size = { accessModes: ["ReadWriteOnce"], storageClassName: "" };

const secretRef = (name) => ({ name, namespace: NAMESPACE });
const VOLUME = {
  ...{ apiVersion: "v1", kind: "PersistentVolume", metadata: { name: "tenant" } },
  spec: {
    ...{ ...size, capacity: { storage: "1Gi" }, persistentVolumeReclaimPolicy: "Retain" },
    claimRef: { namespace: NAMESPACE, name: "data" },
    csi: {
      ...{ driver: "vendor.example", volumeHandle: "one" },
      ...{ nodeStageSecretRef: secretRef(SECRETS[0]), nodePublishSecretRef: secretRef(SECRETS[1]) },
    },
  },
};

/** On {@link HERE}, as if a scheduler had put it there. */
const POD = named("Pod", "user", {
  spec: {
    nodeName: HERE,
    containers: [{ name: "main", image: "none", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
  },
});

export async function nodeSecrets(cluster) {
  const kube = new Kube(cluster);
  await kube.kubectl("create", "namespace", NAMESPACE);
  await kube.apply(
    // What a controller manager would make.
    named("ServiceAccount", "default"),
    ...[...SECRETS, "of-nobody"].map((name) => named("Secret", name, { stringData: { key: "hidden" } })),
    ...[VOLUME, named("PersistentVolumeClaim", "data", { spec: claimSpec() }), POD],
  );
  const reads = async (node, secret) => {
    const config = await cluster.pki.identity(node, `/O=system:nodes/CN=system:node:${node}`);
    const args = ["--kubeconfig", config, "-n", NAMESPACE, "get", "secret", secret, "-o", "name"];
    return (await execute("kubectl", args)).stdout;
  };
  for (const secret of SECRETS) {
    await until(`${HERE} to read ${secret}`, () => reads(HERE, secret));
    await assert.rejects(reads(THERE, secret), /Forbidden/, secret);
  }
  await assert.rejects(reads(HERE, "of-nobody"), /Forbidden/);
}

const claimSpec = () => ({ ...size, volumeName: "tenant", resources: { requests: { storage: "1Gi" } } });

export async function tenantsChooseNoSecrets({ kubectl }) {
  const may = async (verb, what) => {
    const asked = kubectl("auth", "can-i", verb, what, "--as=tenant", "-n", NAMESPACE);
    return (await asked.catch(({ stdout }) => stdout)).trim();
  };
  // What the role "admin" is put together from, by a controller manager.
  for (const part of ["admin", "edit", "view"]) {
    const role = `--clusterrole=system:aggregate-to-${part}`;
    await kubectl("-n", NAMESPACE, "create", "rolebinding", part, role, "--user=tenant");
  }
  await until("the tenant to be an administrator", async () => (await may("create", "pvc")) === "yes");
  for (const what of ["storageclasses.storage.k8s.io", "persistentvolumes"])
    for (const verb of ["create", "update", "patch"]) assert.equal(await may(verb, what), "no", what);
}
