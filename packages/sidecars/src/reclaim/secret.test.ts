// biome-ignore-all lint/suspicious/noTemplateCurlyInString: class parameters look like that
import assert from "node:assert/strict";
import { test } from "node:test";
import type { v1 } from "@mooring/csi";
import { Events, PersistentVolumes, Secrets, StorageClasses } from "@mooring/store";
import { DELETION_SECRET_NAME, DELETION_SECRET_NAMESPACE } from "../common/names.ts";
import { startHarness } from "../testing/harness.ts";
import { DRIVER, persistentVolume, storageClass } from "../testing/objects.ts";

/** What external-provisioner tests of the secret for DeleteVolume (TestDelete). */
const P = "csi.storage.k8s.io/";
const classOf = (name: string, secret: string) =>
  storageClass({
    metadata: { name },
    parameters: { [`${P}provisioner-secret-name`]: secret, [`${P}provisioner-secret-namespace`]: "infra" },
  });
const noted = (name: string, namespace = name === "" ? "" : "infra") => ({
  [DELETION_SECRET_NAME]: name,
  [DELETION_SECRET_NAMESPACE]: namespace,
});
const [NEW, OLD] = ["new", "old"];

/** `deleted`: with which key; undefined: without any; `never`: not at all. */
const ROWS: readonly (readonly [
  title: string,
  volume: { annotations?: Record<string, string>; className: string },
  deleted: string | undefined,
])[] = [
  ["none was noted, and the class has one now", { annotations: noted(""), className: "has-new" }, undefined],
  ["none was noted, and the class has gone", { annotations: noted(""), className: "gone" }, undefined],
  ["one was noted, and the class has it", { annotations: noted(OLD), className: "has-old" }, OLD],
  ["one was noted, and the class has gone", { annotations: noted(OLD), className: "gone" }, OLD],
  ["one was noted, and the class has another", { annotations: noted(OLD), className: "has-new" }, OLD],
  ["one was noted that has gone", { annotations: noted("missing"), className: "has-new" }, undefined],
  ["nothing was noted", { className: "has-new" }, NEW],
  ["nothing was noted, and the class has gone", { className: "gone" }, undefined],
  ["nothing was noted, and the class has a template of the claim", { className: "by-claim" }, OLD],
  [
    "nothing was noted, and the class asks for an annotation of the claim",
    { className: "by-annotation" },
    "never",
  ],
];

test("which secret a volume is deleted with", async (t) => {
  const key = (name: string) => ({
    ...{ apiVersion: "v1", kind: "Secret", metadata: { name, namespace: "infra" } },
    data: { key: Buffer.from(name).toString("base64") },
  });
  const classes = [
    classOf("has-new", NEW),
    classOf("has-old", OLD),
    classOf("by-claim", "${pvc.name}"),
    classOf("by-annotation", "${pvc.annotations['key']}"),
  ];
  const h = await startHarness(t, {
    objects: [
      ...classes.map((each) => [StorageClasses, each] as [typeof StorageClasses, typeof each]),
      ...[NEW, OLD].map((name) => [Secrets, key(name)] as [typeof Secrets, ReturnType<typeof key>]),
    ],
  });
  for (const [index, [, { annotations = {}, className }]] of ROWS.entries()) {
    const volumeHandle = `by-hand-${index}`;
    h.driver.backend.volumes.set(volumeHandle, {
      ...{ id: volumeHandle, name: volumeHandle, bytes: 1n, fingerprint: "", topology: [] },
      publishedTo: new Set<string>(),
    });
    const claimRef = { namespace: "default", name: OLD, uid: `uid-gone-${index}` };
    const spec = { csi: { driver: DRIVER, volumeHandle }, storageClassName: className, claimRef };
    const metadata = { name: volumeHandle, annotations };
    await h.store.create(PersistentVolumes, { ...persistentVolume(volumeHandle, spec), metadata });
  }
  const staying = async () =>
    (await h.store.list(PersistentVolumes)).items.map(({ metadata }) => metadata.name);
  const never = ROWS.flatMap(([, , deleted], index) => (deleted === "never" ? [`by-hand-${index}`] : []));
  await h.until(
    "all but those that cannot be are deleted",
    async () => (await staying()).join() === never.join(),
    staying,
  );
  await h.until("which is reported", async () =>
    (await h.store.list(Events)).items.some(
      ({ reason, message = "" }) => reason === "VolumeFailedDelete" && message.includes("pvc.annotations"),
    ),
  );
  const used = new Map(
    h.driver.calls
      .filter(({ method }) => method === "DeleteVolume")
      .map(({ request }) => request as v1.DeleteVolumeRequest)
      .map(({ volumeId, secrets }) => [volumeId, secrets.key]),
  );
  for (const [index, [title, , deleted]] of ROWS.entries())
    assert.equal(used.get(`by-hand-${index}`), deleted === "never" ? undefined : deleted, title);
});
