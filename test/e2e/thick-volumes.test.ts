import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod, snapshot } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { Up } from "../support/up.ts";

const THICK = "mooring-thick";
const CLASS = {
  ...{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name: THICK } },
  ...{ provisioner: "csi.mooring.dev", parameters: { provisioningType: "thick" } },
  ...{ volumeBindingMode: "WaitForFirstConsumer", allowVolumeExpansion: true },
};
const IDLE = "exec sleep infinity";

/** A pool of 1 GiB with a thick claim `safe` and a thin one `loose`, each in a running pod of its name. */
async function twoKinds(kubectl: Kubectl): Promise<void> {
  await kubectl.apply(JSON.stringify(CLASS));
  const claims = [
    claim("default", "safe", { size: "256Mi", className: THICK }),
    claim("default", "loose", { size: "500Mi" }),
  ];
  const pods = ["safe", "loose"].map((name) => pod("default", name, IDLE, { mounts: { "/data": name } }));
  for (const each of [...claims, ...pods]) await kubectl.apply(JSON.stringify(each));
  await kubectl.run("wait", "--for=condition=Ready", "pod/safe", "pod/loose", "--timeout=120s");
}

const write = (kubectl: Kubectl, where: string, mebibytes: number): Promise<string> =>
  kubectl.run(
    ...["exec", where, "--", "dd", "if=/dev/urandom", "of=/data/file", "bs=1M"],
    ...[`count=${mebibytes}`, "conv=notrunc,fsync"],
  );
const sumOf = (kubectl: Kubectl, where: string): Promise<string> =>
  kubectl.run("exec", where, "--", "sha256sum", "/data/file");

/** What the thin volume's user reads, and that nothing says so of the thick one. */
async function reportsWhoFails({ kubeconfig, stateDir }: Up): Promise<void> {
  const why = (name: string) => mooring("why", `pvc/${name}`, "--kubeconfig", kubeconfig);
  const warned = /Pool default: .*writes into thin volumes fail.*without fsync is lost/;
  const lastSeen = async () => [await why("loose"), await mooring("status", "--kubeconfig", kubeconfig)];
  await eventually(
    "why to say that writes fail",
    async () => {
      const { code, stdout } = await why("loose");
      return code === 1 && warned.test(stdout);
    },
    { lastSeen },
  );
  assert.doesNotMatch((await why("safe")).stdout, /fail/);
  const doctor = await mooring("doctor", "--state-dir", stateDir);
  assert.equal(doctor.code, 1);
  assert.match(doctor.stdout, /Pool default +fail .*writes into thin volumes fail/);
}

test(
  "a thick claim is written in a pool that others have filled, and copied where there is room",
  thorough(),
  async (t) => {
    const up = await Up.create({ poolSize: "1Gi" });
    t.after(() => up.dispose());
    await up.start();
    const kubectl = new Kubectl(up.kubeconfig);
    await twoKinds(kubectl);
    await write(kubectl, "loose", 400);
    await kubectl.apply(JSON.stringify(snapshot("default", "loose", "loose")));
    await kubectl.run(
      "wait",
      "volumesnapshot/loose",
      "--for=jsonpath={.status.readyToUse}=true",
      "--timeout=120s",
    );

    // What it writes a second time takes room a second time.
    await assert.rejects(write(kubectl, "loose", 400), /Input\/output error|No space left/);
    await reportsWhoFails(up);
    await write(kubectl, "safe", 200);
    const sum = await sumOf(kubectl, "safe");
    await kubectl.apply(JSON.stringify(snapshot("default", "safe", "safe")));
    const shown = () => kubectl.run("describe", "volumesnapshot", "safe");
    await eventually(
      "the copy of a thick volume to be refused",
      async () => /Message: +the pool has .* free and keeps .* in reserve/.test(await shown()),
      { lastSeen: shown },
    );

    await kubectl.run("delete", "volumesnapshot/loose", "--timeout=120s");
    await eventually("the thin volume to remember when its writes failed", async () => {
      const { stdout } = await mooring("why", "pvc/loose", "--kubeconfig", up.kubeconfig);
      return /from \S+Z on writes failed.*may be lost/.test(stdout);
    });
    await kubectl.run("delete", "pod/loose", "pvc/loose", "--timeout=120s");
    await kubectl.run(
      "wait",
      "volumesnapshot/safe",
      "--for=jsonpath={.status.readyToUse}=true",
      "--timeout=180s",
    );
    await kubectl.apply(
      JSON.stringify(claim("default", "copy", { size: "256Mi", className: THICK, snapshot: "safe" })),
    );
    await kubectl.apply(JSON.stringify(pod("default", "copy", IDLE, { mounts: { "/data": "copy" } })));
    await kubectl.run("wait", "--for=condition=Ready", "pod/copy", "--timeout=180s");
    assert.equal(await sumOf(kubectl, "copy"), sum);
    assert.equal(await sumOf(kubectl, "safe"), sum);
  },
);
