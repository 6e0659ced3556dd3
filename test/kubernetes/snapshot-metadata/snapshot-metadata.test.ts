import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { poolLayout } from "@mooring/engine";
import { eventually, thorough } from "@mooring/store/testing";
import { type Driver, NODE, prepareDriver } from "../../csi/support/driver.ts";
import { MooringProcess, plainEnvironment } from "../../csi/support/process.ts";
import { sleepersSocket } from "../../support/sleepers.ts";
import { programFolder } from "../real/support/components.mjs";
import { startControlPlane } from "../real/support/control-plane.mjs";
import { testCertificates } from "./certificates.ts";
import { BackupProgram } from "./scenario.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const SERVER = ["etcd", "kube-apiserver", "kube-controller-manager"];
const CONTROLLERS = [
  ...["persistentvolume-binder-controller", "serviceaccount-controller", "serviceaccount-token-controller"],
  ...["persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"],
  "namespace-controller",
];
const DRIVER = "csi.mooring.dev";

function missing(): string | undefined {
  const absent = SERVER.filter((name) => !existsSync(join(programFolder(), name)));
  return absent.length === 0
    ? undefined
    : `${absent.join(" and ")} not in ${programFolder()}; "npm run test:kubernetes" builds them`;
}

const CLASSES = `
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: block}, provisioner: ${DRIVER}}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: snaps}
driver: ${DRIVER}
deletionPolicy: Delete
`;

/** As a kubelet and a registrar make them: volumes are made where nodes with the driver are. */
const nodeOf = (segments: Record<string, string>) => `
---
{apiVersion: v1, kind: Node, metadata: {name: ${NODE}, labels: ${JSON.stringify(segments)}}}
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: ${NODE}}
spec: {drivers: [{name: ${DRIVER}, nodeID: ${NODE}, topologyKeys: ${JSON.stringify(Object.keys(segments))}}]}
`;

/** What has to be undone, last first. */
type Undo = (() => Promise<unknown>)[];

/** A real API server, our driver on XFS, and the control plane with the service of block maps between them. */
async function start(undo: Undo) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-block-maps-"));
  undo.push(() => rm(folder, { recursive: true, force: true }));
  const plane = await startControlPlane({
    ...{ folder, bin: programFolder(), only: SERVER, address: undefined, controllers: CONTROLLERS },
  });
  undo.push(() => plane.stop());
  for (const crds of ["deploy/crds", "deploy/standalone-crds"])
    await plane.kubectl("apply", "--server-side", "-f", join(ROOT, crds));
  await plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
  const driver = await prepareDriver({ pool: "xfs" });
  undo.push(() => driver.dispose());
  await driver.start();
  const apply = async (manifest: string) => {
    const file = join(folder, "manifest.yaml");
    // What begins with a brace is taken for JSON.
    await writeFile(file, `---\n${manifest}`);
    await plane.kubectl("apply", "-f", file);
  };
  const { accessibleTopology } = await driver.node.nodeGetInfo({});
  await apply(CLASSES + nodeOf({ ...accessibleTopology?.segments }));
  const pki = await testCertificates(folder);
  const controller = await startController({ folder, kubeconfig: plane.admin, driver, pki });
  undo.push(() => controller.process.end());
  const { images } = poolLayout("xfs", join(driver.stateDir, "pools", "default"));
  const image = (handle: string) => join(images, `${handle}.img`);
  const { ca, otherCa } = pki;
  return { ...controller, cluster: { kubectl: plane.kubectl, apply, driver: DRIVER, image, ca, otherCa } };
}

interface Around {
  folder: string;
  kubeconfig: string;
  driver: Driver;
  pki: { cert: string; key: string };
}

async function startController({ folder, kubeconfig, driver, pki }: Around) {
  const ready = join(folder, "ready");
  const process = new MooringProcess(
    [
      ...["controller", "--csi-address", driver.endpoint, "--kubeconfig", kubeconfig],
      ...["--snapshot-metadata-listen", "127.0.0.1:0", "--log-level", "debug", "--ready-file", ready],
      ...["--snapshot-metadata-tls-cert", pki.cert, "--snapshot-metadata-tls-key", pki.key],
    ],
    { ...plainEnvironment(), ...sleepersSocket(join(folder, "sleepers")) },
  );
  await eventually(`the controller; it printed ${process.stderr}`, async () => {
    assert.ok(process.alive, process.stderr);
    return (await readFile(ready, "utf8").catch(() => "")) !== "";
  });
  const [, port] = /"port":(\d+)[^\n]*serving block maps/.exec(process.stderr) ?? [];
  return { process, address: `localhost:${port}` };
}

test("a backup program reads block maps through a real API server, and nobody else does", {
  skip: thorough().skip || (missing() ?? false),
}, async (t) => {
  const undo: Undo = [];
  t.after(async () => {
    for (const each of undo.reverse()) await each();
  });
  const { cluster, process, address } = await start(undo);
  const program = new BackupProgram({ ...cluster, address });
  await program.prepare();
  await program.reads();
  await program.refusals();
  await program.revoked();
  assert.ok(program.secret.length > 100 && !process.stderr.includes(program.secret));
  await program.end();
  await process.atRest();
});
