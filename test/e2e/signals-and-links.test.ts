import assert from "node:assert/strict";
import { symlink, unlink } from "node:fs/promises";
import { test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { nothingRemains } from "../support/remains.ts";
import { Up } from "../support/up.ts";

const CLASS = {
  ...{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name: "later" } },
  ...{ provisioner: "csi.mooring.dev", volumeBindingMode: "WaitForFirstConsumer" },
};

/** By a link doctor finds what it finds by the folder itself: nothing. */
async function doctorByLink({ stateDir }: Up): Promise<void> {
  const link = `${stateDir}.link`;
  await symlink(stateDir, link);
  try {
    const { code, stdout } = await mooring("doctor", "--state-dir", link);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^leaks +ok/m);
  } finally {
    await unlink(link);
  }
}

test(
  "signals that ask for nothing do nothing, links change nothing, and why leads on and not back",
  thorough(),
  async (t) => {
    const up = await Up.create();
    t.after(() => up.dispose());
    await up.start();
    const kubectl = new Kubectl(up.kubeconfig);
    await kubectl.apply(JSON.stringify(claim("default", "data", { size: "16Mi" })));
    await kubectl.apply(
      JSON.stringify(pod("default", "web", "exec sleep infinity", { mounts: { "/data": "data" } })),
    );
    await kubectl.run("wait", "--for=condition=Ready", "pod/web", "--timeout=120s");
    for (const signal of ["SIGUSR1", "SIGUSR2"] as const) process.kill(up.pid, signal);
    await doctorByLink(up);
    assert.ok(up.alive);
    assert.doesNotMatch(up.output, /Debugger listening/);
    const why = (target: string) => mooring("why", target, "--kubeconfig", up.kubeconfig);
    const pool = await why("pool/default");
    assert.equal(pool.code, 0, pool.stdout);

    await kubectl.apply(JSON.stringify(CLASS));
    await kubectl.apply(JSON.stringify(claim("default", "huge", { size: "100Ti", className: "later" })));
    await kubectl.apply(
      JSON.stringify(pod("default", "greedy", "exec sleep infinity", { mounts: { "/data": "huge" } })),
    );
    await eventually("the pod to be reported", async () => {
      const { stdout } = await why("pod/greedy");
      return /enough free storage.*next: ask for less in the claim, make a pool larger/s.test(stdout);
    });
    assert.doesNotMatch((await why("pod/greedy")).stdout, /next: mooring why pod\/greedy/);
    const doctor = await mooring("doctor", "--state-dir", up.stateDir);
    assert.match(doctor.stdout, /^Pod default\/greedy +fail/m);

    process.kill(up.pid, "SIGHUP");
    await eventually("it to end as when its terminal is closed", async () => !up.alive);
    assert.equal(await up.end("SIGTERM"), 0);
    await nothingRemains(up.stateDir);
  },
);
