// What the kubelet does when a call of a driver fails, by what the driver has written down.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "../support/program.mjs";
import { makeVolumes, podOf, removeVolumes } from "./other-drivers.mjs";

/** Staging and publishing that fail are repeated; where nobody wants the volume any more and the outcome is unknown, they are undone. */
export async function repeatsOrUndoes(kube, { stages: driver }) {
  const names = ["refused", "unknown-stage", "unknown-publish"];
  driver.fail("NodeStageVolume", "refused", "INTERNAL", 1);
  driver.fail("NodePublishVolume", "refused", "INTERNAL", 1);
  driver.fail("NodeStageVolume", "unknown-stage", "UNAVAILABLE");
  driver.fail("NodePublishVolume", "unknown-publish", "UNAVAILABLE");
  await makeVolumes(kube, driver, names);
  await kube.apply(...names.map((name) => podOf(name)));
  await kube.ready("refused");
  assert.deepEqual(driver.stepsOf("refused"), [
    ...["NodeStageVolume INTERNAL", "NodeStageVolume OK"],
    ...["NodePublishVolume INTERNAL", "NodePublishVolume OK"],
  ]);
  for (const [name, method] of [
    ["unknown-stage", "NodeStageVolume"],
    ["unknown-publish", "NodePublishVolume"],
  ])
    await until(`${method} to have failed`, () => driver.callsOf(name, method).length > 0);
  await kube.delete(...names.map((name) => `pod/${name}`));
  await until("all to be unstaged", () =>
    names.every((name) => driver.stepsOf(name).at(-1) === "NodeUnstageVolume OK"),
  );
  assert.deepEqual(driver.stepsOf("unknown-stage"), ["NodeStageVolume UNAVAILABLE", "NodeUnstageVolume OK"]);
  assert.deepEqual(driver.stepsOf("unknown-publish"), [
    ...["NodeStageVolume OK", "NodePublishVolume UNAVAILABLE"],
    ...["NodeUnpublishVolume OK", "NodeUnstageVolume OK"],
  ]);
  await removeVolumes(kube, ...names);
}

/** How long the kubelet has decided to wait after each failure for a volume, by its log. */
async function delaysOf({ cluster }, volume) {
  const log = await readFile(join(cluster.logs, "kubelet-worker-1.log"), "utf8");
  const failed = new RegExp(`\\^${volume} podName:.*failed\\. No retries .*\\(durationBeforeRetry (\\S+)\\)`);
  return log.split("\n").flatMap((line) => failed.exec(line)?.[1] ?? []);
}

/** A driver that is busy with a volume is asked again later and later, and never twice at once, whatever it is asked for. */
export async function waitsWhileBusy(kube, { stages: driver }) {
  driver.fail("NodeStageVolume", "busy", "ABORTED", 3);
  driver.fail("NodePublishVolume", "busier", "ABORTED", 3);
  driver.fail("NodeUnpublishVolume", "busier", "ABORTED", 2);
  driver.fail("NodeUnstageVolume", "busier", "ABORTED", 2);
  await makeVolumes(kube, driver, ["busy", "busier"]);
  await kube.apply(podOf("busy-1", "busy"), podOf("busy-2", "busy"), podOf("busier"));
  await kube.ready("busy-1", "busy-2", "busier");
  // Those of their ends are left out: the kubelet unpublishes one volume from several pods at once.
  const ofBoth = driver.callsOf("busy");
  await kube.delete("pod/busy-1", "pod/busy-2", "pod/busier");
  await until("both to be unstaged", () =>
    ["busy", "busier"].every((name) => driver.stepsOf(name).at(-1) === "NodeUnstageVolume OK"),
  );
  const all = [...ofBoth, ...driver.callsOf("busier")];
  assert.deepEqual(
    all.filter(({ pending }) => pending > 0),
    [],
  );
  for (const [volume, method, refusals] of [
    ["busy", "NodeStageVolume", 3],
    ["busier", "NodePublishVolume", 3],
    ["busier", "NodeUnpublishVolume", 2],
    ["busier", "NodeUnstageVolume", 2],
  ]) {
    const calls = driver.callsOf(volume, method);
    assert.equal(calls.length, refusals + 1, `${method} of ${volume}`);
    for (const [at, { began }] of calls.slice(1).entries())
      assert.ok(began - calls[at].ended >= 500 * 2 ** at, `${method} ${at}: ${began - calls[at].ended} ms`);
  }
  assert.deepEqual(await delaysOf(kube, "busy"), ["500ms", "1s", "2s"]);
  assert.deepEqual(await delaysOf(kube, "busier"), ["500ms", "1s", "2s", "500ms", "1s", "500ms", "1s"]);
  await removeVolumes(kube, "busy", "busier");
}

/**
 * A second pod on the node, to which the driver does not publish the volume beside the first: the kubelet neither validates
 * capabilities nor waits for the first one to end. It repeats the call, and so gets the volume when that one has ended.
 */
export async function repeatsWhatExceeds(kube, { stages: driver }) {
  await makeVolumes(kube, driver, ["single"]);
  await kube.apply(podOf("single-1", "single"));
  await kube.ready("single-1");
  driver.fail("NodePublishVolume", "single", "FAILED_PRECONDITION");
  driver.before("NodeUnpublishVolume", "single", () =>
    driver.before("NodePublishVolume", "single", () => {}),
  );
  await kube.apply(podOf("single-2", "single"));
  const refused = () =>
    driver.callsOf("single", "NodePublishVolume").filter(({ code }) => code === "FAILED_PRECONDITION");
  await until("the call to be repeated", () => refused().length >= 2);
  await kube.delete("pod/single-1");
  await kube.ready("single-2");
  assert.ok(!driver.methods.some((method) => /ValidateVolumeCapabilities/.test(method)));
  await kube.delete("pod/single-2");
  await removeVolumes(kube, "single");
}
