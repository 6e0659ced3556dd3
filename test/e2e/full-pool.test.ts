import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { world } from "../support/world.ts";

const NAMESPACE = "default";
/** Fills the volume until a write fails, says which, and writes no more. */
const FILLER = "dd if=/dev/urandom of=/data/x bs=1M oflag=sync || true; exec sleep 10000";
/** Writes a little at a time, each line on disk; begins anew when one fails. */
const WRITER = "while :; do date >> /data/log; sync /data/log; sleep 0.05; done";

for (const type of ["xfs", "btrfs"] as const)
  test(
    `a full ${type} pool is reported by every command, event and metric, and its users go on when there is room`,
    thorough(),
    async () => {
      const args = ["--pool-overcommit", "4"];
      const { up, kubectl, shows, gone } = await world({ pool: type, poolSize: "512Mi", args });
      const apply = (object: object) => kubectl.apply(JSON.stringify(object));
      const of = ["--kubeconfig", up.kubeconfig];
      const condition = (wanted: string) => `{.status.conditions[?(@.type=="${wanted}")].status}`;
      await apply(claim(NAMESPACE, "big", { size: "1Gi" }));
      await apply(claim(NAMESPACE, "small", { size: "64Mi" }));
      await apply(pod(NAMESPACE, "filler", FILLER, { mounts: { "/data": "big" } }));
      const writes = (name: string) =>
        apply(pod(NAMESPACE, name, WRITER, { mounts: { "/data": "small" }, restartPolicy: "Always" }));
      await writes("writer-1");
      await shows(["pool", "default"], condition("WritesFail"), "True");

      const why = async (target: string) => (await mooring("why", target, ...of)).stdout;
      const FULL =
        /nothing is left in the pool: writes into thin volumes fail[\s\S]*next: delete claims or snapshots/;
      for (const target of ["pvc/big", "pvc/small", "pod/writer-1", "pool/default"])
        await eventually(`why ${target} to name the pool`, async () => FULL.test(await why(target)), {
          lastSeen: () => why(target),
        });
      const doctor = await mooring("doctor", ...of, "--state-dir", up.stateDir);
      assert.equal(doctor.code, 1);
      assert.match(doctor.stdout, /Pool default.*nothing is left in the pool/);
      const status = await mooring("status", ...of);
      assert.equal(status.code, 1);
      assert.match(status.stdout, /nothing is left in the pool/);
      const metrics = await kubectl.run("get", "--raw", "/metrics");
      assert.match(metrics, /^mooring_pool_writes_fail\{pool="default"\} 1$/m);
      assert.match(metrics, /^mooring_pool_alert_level\{pool="default"\} 95$/m);
      // Each with the cause and the next step, whole: a condition of a volume may have 128 bytes.
      const REPORTED =
        /Warning +VolumeConditionAbnormal .*nothing is left in the pool: writes fail; delete claims or snapshots, or enlarge it \(pool default\)/;
      for (const [kind, name] of [
        ["pvc", "big"],
        ["pvc", "small"],
        ["pod", "filler"],
        ["pod", "writer-1"],
      ] as const) {
        const description = () => kubectl.run("describe", kind, name);
        await eventually(`an event of ${kind} ${name}`, async () => REPORTED.test(await description()), {
          ...{ withinMs: 300_000, everyMs: 1_000 },
          lastSeen: description,
        });
      }
      // One per level and object, however long it lasts.
      const reported = await kubectl.run(
        "get",
        "events",
        "--field-selector",
        "reason=VolumeConditionAbnormal",
      );
      for (const about of ["persistentvolumeclaim/big", "persistentvolumeclaim/small", "pod/filler"]) {
        const lines = reported.split("\n").filter((line) => line.includes(` ${about} `));
        assert.ok(lines.length >= 1 && lines.length <= 3, reported);
      }

      // As a Deployment's: the next pod is there before the last one has gone.
      await writes("writer-2");
      await kubectl.run("delete", "pod", "writer-1", "--wait=false");
      await kubectl.run("patch", "pool", "default", "--type=merge", "-p", '{"spec":{"size":1610612736}}');
      await gone("pod", "writer-1");
      await shows(["pool", "default"], condition("WritesFail"), "False");
      await shows(["pod", "writer-2"], condition("Ready"), "True");
      await eventually(
        "the other pod to write",
        async () => {
          const written = "date >> /data/log && sync /data/log && echo written";
          const output = await kubectl
            .run("exec", "writer-2", "--", "sh", "-c", written)
            .catch((error: Error) => error.message);
          return /^written$/m.test(output);
        },
        { lastSeen: () => why("pod/writer-2") },
      );
      await eventually(
        "the claim to be reported to be well",
        async () =>
          /VolumeConditionNormal .*there is room again; writes failed before/.test(
            await kubectl.run("describe", "pvc", "small"),
          ),
        { withinMs: 300_000, everyMs: 1_000, lastSeen: () => kubectl.run("describe", "pvc", "small") },
      );
      await kubectl.run("delete", "pod", "filler", "writer-2");
      await kubectl.run("delete", "pvc", "big", "small");
    },
  );
