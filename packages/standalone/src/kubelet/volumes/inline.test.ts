import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CsiError, type v1 } from "@mooring/csi";
import {
  type CSIDriver,
  CSIDrivers,
  Events,
  KubeVolumeAttachments,
  Secrets,
  ServiceAccounts,
} from "@mooring/store";
import { covers, thorough, eventually as until } from "@mooring/store/testing";
import { TEST_DRIVER } from "../testing/directory-driver.ts";
import {
  claim,
  eventually,
  logShows,
  PersistentVolumeClaims,
  Pods,
  phase,
  pod,
  podWithClaim,
} from "../testing/test-cluster.ts";
import { FOREVER, volumeCluster } from "../testing/volume-cluster.ts";
import { requireEphemeral } from "./inline-volume.ts";

const CONTEXT = "csi.storage.k8s.io";
let signed = 0;
const { cluster, folder, remove, boundHandle, callsOf } = await volumeCluster({
  stages: false,
  republishMs: 100,
  // Good for a moment only: whoever is called again gets another.
  issueToken: ({ audiences, account }) => {
    signed += 1;
    return { token: `${audiences}-${account.name}-${signed}`, expires: new Date(Date.now() + 200) };
  },
  csiDriver: {
    ...{ podInfoOnMount: true, requiresRepublish: true },
    volumeLifecycleModes: ["Persistent", "Ephemeral"],
    tokenRequests: [{ audience: "vault", expirationSeconds: 600 }],
  },
});
const { store, driver } = cluster;
const account = { apiVersion: "v1", kind: "ServiceAccount" };
await store.create(ServiceAccounts, { ...account, metadata: { name: "default", namespace: "default" } });

/** Publications that the driver was asked for, newest last. */
const published: v1.NodePublishVolumeRequest[] = [];
let refuses = false;
driver.before = (call, request) => {
  if (call !== "NodePublishVolume") return;
  published.push(request as v1.NodePublishVolumeRequest);
  if (refuses) throw CsiError.unavailable("no new token today");
};
const tokenIn = ({ volumeContext }: v1.NodePublishVolumeRequest): string =>
  JSON.parse(volumeContext[`${CONTEXT}/serviceAccount.tokens`] ?? "{}").vault?.token ?? "";

const inlinePod = (name: string, readOnly = false) => {
  const csi = {
    ...{ driver: TEST_DRIVER, readOnly, volumeAttributes: { colour: "blue" } },
    nodePublishSecretRef: { name: "key" },
  };
  const script = `${readOnly ? "touch /scratch/x || echo refused" : "echo text > /scratch/x"}; ${FOREVER}`;
  const made = pod(name, script, { restartPolicy: "Always", volumes: [{ name: "scratch", csi }] });
  const containers = (made.spec?.containers ?? []).map((each) => ({
    ...each,
    volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
  }));
  return { ...made, spec: { ...made.spec, containers } };
};

test(
  "a volume in a pod's spec is made for it, with pod, token and secret, and goes with it",
  thorough(),
  async () => {
    covers("CSI-011");
    const data = { user: Buffer.from("anna").toString("base64") };
    await store.create(Secrets, {
      ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "key", namespace: "default" }, data },
    });
    await store.create(Pods, inlinePod("inline"));
    await eventually(store, Pods, "inline", phase("Running"));
    await logShows(cluster, "inline", /up/);
    const { uid = "" } = (await store.get(Pods, { namespace: "default", name: "inline" })).metadata;
    const [request] = published;
    assert.ok(request);
    const { volumeId, stagingTargetPath, secrets, volumeContext, targetPath } = request;
    assert.match(volumeId, /^csi-[0-9a-f]{64}$/);
    assert.equal(targetPath, join(folder, "kubelet/pods", uid, "volumes/kubernetes.io~csi/scratch/mount"));
    assert.deepEqual([stagingTargetPath, secrets], ["", { user: "anna" }]);
    const { [`${CONTEXT}/serviceAccount.tokens`]: tokens, ...rest } = volumeContext;
    assert.deepEqual(rest, {
      colour: "blue",
      [`${CONTEXT}/pod.name`]: "inline",
      [`${CONTEXT}/pod.namespace`]: "default",
      [`${CONTEXT}/pod.uid`]: uid,
      [`${CONTEXT}/serviceAccount.name`]: "default",
      [`${CONTEXT}/ephemeral`]: "true",
    });
    const { vault } = JSON.parse(tokens ?? "{}");
    assert.match(vault.token, /^vault-default-\d+$/);
    assert.ok(Number.isFinite(Date.parse(vault.expirationTimestamp)));
    const data1 = join(folder, "driver/volumes", volumeId);
    assert.ok(existsSync(join(data1, "x")));
    assert.deepEqual((await store.list(KubeVolumeAttachments)).items, []);
    await remove("inline");
    assert.deepEqual([...new Set(callsOf(volumeId))], ["NodePublishVolume", "NodeUnpublishVolume"]);
    assert.equal(existsSync(data1), false);
  },
);

test(
  "the same volume comes back with its pod when the kubelet does, and read-only is read-only",
  thorough(),
  async () => {
    await store.create(Pods, inlinePod("again", true));
    await eventually(store, Pods, "again", phase("Running"));
    await logShows(cluster, "again", /refused/);
    const { volumeId } = published.at(-1) ?? assert.fail();
    await cluster.stopKubelet();
    assert.equal(callsOf(volumeId).at(-1), "NodeUnpublishVolume");
    await cluster.startKubelet();
    await until("it is published again", () => callsOf(volumeId).at(-1) === "NodePublishVolume" || undefined);
    await remove("again");
    assert.equal(callsOf(volumeId).at(-1), "NodeUnpublishVolume");
  },
);

test(
  "a driver that wants it is asked to publish again and again, with new tokens; a refusal leaves the pod alone",
  thorough(),
  async () => {
    await store.create(PersistentVolumeClaims, claim("fresh"));
    const handle = await boundHandle("fresh");
    const ofClaim = () => published.filter(({ volumeId }) => volumeId === handle);
    await store.create(Pods, podWithClaim("fresh", "fresh", FOREVER));
    await eventually(store, Pods, "fresh", phase("Running"));
    await until("two tokens", () => new Set(ofClaim().map(tokenIn)).size >= 2 || undefined);
    assert.equal(ofClaim()[0]?.volumeContext[`${CONTEXT}/ephemeral`], "false");
    refuses = true;
    await until("the refusal is reported", async () => {
      const { items } = await store.list(Events);
      return items.find(
        ({ reason, message }) => reason === "FailedMount" && /no new token today/.test(message ?? ""),
      );
    });
    refuses = false;
    const before = ofClaim().length;
    await until("it goes on", () => ofClaim().length > before + 1 || undefined);
    assert.equal((await store.get(Pods, { namespace: "default", name: "fresh" })).status?.phase, "Running");
    assert.equal(callsOf(handle).filter((call) => call === "NodeUnpublishVolume").length, 0);
    const spec = { serviceAccountTokenInSecrets: true };
    await store.patch(CSIDrivers, { name: TEST_DRIVER }, { type: "merge", body: { spec } });
    await until("a token among the secrets", () => {
      const { secrets, volumeContext } = ofClaim().at(-1) ?? assert.fail();
      const key = `${CONTEXT}/serviceAccount.tokens`;
      return (/vault-default-/.test(secrets[key] ?? "") && volumeContext[key] === undefined) || undefined;
    });
    await remove("fresh");
    await store.delete(PersistentVolumeClaims, { namespace: "default", name: "fresh" });
  },
);

test("a driver that makes no volumes for pods is not asked for one", () => {
  covers("K8S-063");
  const persistent = { spec: { volumeLifecycleModes: ["Persistent"] } } as CSIDriver;
  assert.throws(
    () => requireEphemeral("d", persistent),
    /driver d makes no volumes for a pod alone .*Persistent/,
  );
  assert.throws(() => requireEphemeral("d", undefined), /use a persistentVolumeClaim/);
  requireEphemeral("d", { spec: { volumeLifecycleModes: ["Ephemeral"] } } as CSIDriver);
});
