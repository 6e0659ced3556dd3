import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { covers, eventually, thorough } from "@mooring/store/testing";
import { type Attachment, claim, DRIVER, missing, NODE, OTHER, pod, World } from "./world.ts";

const options = { skip: thorough().skip || (missing() ?? false) };
const isAttached = (found?: Attachment) => found?.status?.attached === true;

/** As Kubernetes' own controller calls it. */
const nameOf = (volume: string) =>
  `csi-${createHash("sha256").update(`id-of-${volume}${DRIVER}${NODE}`).digest("hex")}`;

const attachmentOf = (volume: string) => `
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: ${nameOf(volume)}, annotations: {made: by-hand}}
spec: {attacher: ${DRIVER}, nodeName: ${NODE}, source: {persistentVolumeName: ${volume}}}
`;

test(
  "Kubernetes' own controllers report a refused attachment, take up one that is there, and release what claims had",
  options,
  async (t) => {
    covers("K8S-033", "K8S-034", "K8S-042", "K8S-073", "K8S-075");
    const undo: (() => Promise<unknown>)[] = [];
    t.after(async () => {
      for (const each of undo.reverse()) await each();
    });
    const world = await World.open(undo);
    const control = await world.control(undo);

    const allow = await world.driver.refuseToAttach();
    await world.kubectl.apply(claim("late") + pod("late"));
    const late = await world.volumeOf("late");
    await world.reported("late", /AttachVolume\.Attach failed.*the array has no free port/);
    await allow();
    await world.attachment(late, "attached", isAttached);
    await world.onNode(late, true);

    await world.kubectl.apply(claim("early", "kept"));
    const early = await world.volumeOf("early");
    await world.kubectl.apply(attachmentOf(early));
    await world.attachment(early, "attached by hand", isAttached);
    const before = (await world.attachments()).find(({ metadata }) => metadata.name === nameOf(early));
    await world.kubectl.apply(pod("early"));
    await world.onNode(early, true);
    const after = (await world.attachments()).filter(
      (each) => each.spec.source.persistentVolumeName === early,
    );
    assert.deepEqual(after, [before]);

    for (const name of ["late", "early"]) await world.remove(name);
    await world.kubectl.run("delete", "pvc", "late", "early", "--wait=false");
    const volume = (name: string, path: string) =>
      world.kubectl.run("get", "pv", name, "--ignore-not-found", "-o", `jsonpath={${path}}`);
    await eventually(
      "what is to be deleted to be gone",
      async () => (await volume(late, ".metadata.name")) === "",
    );
    assert.equal(await world.driver.called("DeleteVolume"), 1);
    await world.attachment(early, "detached", (found) => found === undefined);
    await eventually(
      "what is kept to be released",
      async () => (await volume(early, ".status.phase")) === "Released",
    );
    await control.atRest();
    assert.equal(await control.end(), 0, control.stderr);
    assert.equal(await world.driver.called("DeleteVolume"), 1);
    assert.equal(await volume(early, ".metadata.name"), early);
  },
);

/** What an administrator has on his array, for one claim. */
const BY_HAND = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: by-hand}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Mi}
  storageClassName: kept
  claimRef: {namespace: default, name: by-hand}
  csi: {driver: ${DRIVER}, volumeHandle: id-of-by-hand}
`;

test(
  "a volume that was there before is attached and never made, and to one node at a time",
  options,
  async (t) => {
    covers("CSI-010", "CSI-145");
    const undo: (() => Promise<unknown>)[] = [];
    t.after(async () => {
      for (const each of undo.reverse()) await each();
    });
    const world = await World.open(undo);
    const control = await world.control(undo);
    await world.kubectl.apply(`${BY_HAND}---${claim("by-hand", "kept")}`);
    assert.equal(await world.volumeOf("by-hand"), "by-hand");
    await world.kubectl.apply(pod("by-hand"));
    await world.attachment("by-hand", "attached", isAttached);
    await world.onNode("by-hand", true);
    await world.kubectl.apply(pod("second", OTHER, "by-hand"));
    await world.reported("second", /Multi-Attach error for volume "by-hand"/);
    const nodes = async () => (await world.attachments()).map(({ spec }) => spec.nodeName);
    assert.deepEqual(await nodes(), [NODE]);
    // Nobody unmounts anything on these nodes, so the first one is free with its pod.
    await world.remove("by-hand");
    await eventually(
      "the volume to be on the other node alone",
      async () => (await nodes()).join() === OTHER,
    );
    await world.attachment("by-hand", "attached there", isAttached);
    assert.equal(await world.driver.called("CreateVolume"), 0);
    assert.equal(await world.driver.called("DeleteVolume"), 0);
    await control.atRest();
    assert.equal(await control.end(), 0, control.stderr);
  },
);
