import assert from "node:assert/strict";
import { test } from "node:test";
import { covers, thorough } from "@mooring/store/testing";
import { type Attachment, claim, DRIVER, missing, NODE, pod, World } from "./world.ts";

test("a driver that refuses to detach, and an attacher that is away, are reported by Kubernetes' own controller, and it goes on when they do", {
  skip: thorough().skip || (missing() ?? false),
}, async (t) => {
  covers("K8S-054", "K8S-076", "K8S-081", "K8S-082", "K8S-083");
  covers("K8S-032", "K8S-055", "K8S-056", "K8S-057", "K8S-058", "K8S-070", "K8S-074", "K8S-079");
  covers("K8S-098", "K8S-101", "K8S-102");
  const undo: (() => Promise<unknown>)[] = [];
  t.after(async () => {
    for (const each of undo.reverse()) await each();
  });
  const world = await World.open(undo);
  const first = await world.control(undo);
  for (const name of ["refused", "leaving", "waiting"]) await world.kubectl.apply(claim(name) + pod(name));
  const [refused, leaving, waiting] = [
    await world.volumeOf("refused"),
    await world.volumeOf("leaving"),
    await world.volumeOf("waiting"),
  ];
  const isAttached = (found?: Attachment) => found?.status?.attached === true;
  for (const volume of [refused, leaving, waiting]) {
    await world.attachment(volume, "attached", isAttached);
    await world.onNode(volume, true);
  }
  for (const name of ["refused", "leaving", "waiting"])
    assert.deepEqual(await world.claim(name), { provisioner: DRIVER, phase: "Bound" });
  const attachments = await world.attachments();
  for (const persistentVolumeName of [refused, leaving, waiting]) {
    const [made, ...more] = attachments.filter(
      ({ spec }) => spec.source.persistentVolumeName === persistentVolumeName,
    );
    const source = { persistentVolumeName };
    assert.deepEqual(made?.spec, { attacher: DRIVER, nodeName: NODE, source });
    assert.equal(made.metadata.namespace, undefined);
    assert.deepEqual(more, []);
  }
  await world.remove("waiting");
  await world.attachment(waiting, "detached", (found) => found === undefined);
  await world.onNode(waiting, false);

  const allow = await world.driver.refuseToDetach();
  await world.remove("refused");
  // What the attacher writes, ...
  await world.attachment(
    refused,
    "refused",
    (found) =>
      isAttached(found) &&
      found?.metadata.deletionTimestamp !== undefined &&
      found.status?.detachError?.message === "the volume is in use by the array's own backup",
  );
  // ... ends the controller's operation with just that error.
  const volume = refused.replaceAll("-", "\\-");
  await world.logged(new RegExp(`[Dd]etach.*${volume}.*in use by the array's own backup`));
  assert.ok((await world.driver.called("ControllerUnpublishVolume")) > 1);

  // With nobody who attaches or detaches there is no error to read: time runs out, both ways.
  await first.atRest();
  assert.equal(await first.end(), 0, first.stderr);
  await allow();
  await world.remove("leaving");
  await world.kubectl.apply(claim("waiting") + pod("waiting"));
  await world.reported("waiting", /AttachVolume\.Attach failed.*timed out waiting for external-attacher/);
  await world.logged(
    new RegExp(`${leaving.replaceAll("-", "\\-")}.*timed out waiting for external-attacher`),
  );
  await world.attachment(leaving, "as it was", (found) => isAttached(found));

  const second = await world.control(undo);
  await world.attachment(waiting, "attached", isAttached);
  for (const gone of [refused, leaving]) {
    await world.attachment(gone, "detached", (found) => found === undefined);
    await world.onNode(gone, false);
  }
  await world.onNode(waiting, true);
  await second.atRest();
  assert.equal(await second.end(), 0, second.stderr);
});
