import assert from "node:assert/strict";
import { copyFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Kubectl } from "../support/kubectl.ts";
import { claim } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { nothingRemains } from "../support/remains.ts";
import { Up } from "../support/up.ts";

const SET = {
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { namespace: "default", name: "db" },
  spec: {
    serviceName: "db",
    selector: { matchLabels: { app: "db" } },
    template: {
      metadata: { labels: { app: "db" } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: "main",
            image: "host",
            command: ["/bin/sh", "-c", "[ -e /data/began ] || date > /data/began; exec sleep infinity"],
            volumeMounts: [{ name: "data", mountPath: "/data" }],
          },
        ],
      },
    },
    volumeClaimTemplates: [claim("default", "data", { size: "64Mi" })],
  },
};

test("a store that was overwritten by an older one of itself is refused: its volumes would be begun anew", async (t) => {
  const up = await Up.create({ pool: "directory" });
  t.after(() => up.dispose());
  const { stateDir } = up;
  const file = join(stateDir, "store", "store.mdb");
  const state = (...args: string[]) => mooring("state", ...args, "--state-dir", stateDir);
  const refusal = async () => {
    const { length } = up.output;
    await up.start({}, { mayDie: true });
    assert.ok(!up.alive, "it has started");
    assert.equal(await up.end("SIGTERM"), 2);
    return up.output.slice(length);
  };
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  await kubectl.apply(JSON.stringify({ ...SET, spec: { ...SET.spec, replicas: 0 } }));
  assert.equal((await state("backup", join(stateDir, "then.mdb"))).code, 0);
  await kubectl.apply(JSON.stringify(SET));
  await kubectl.run("rollout", "status", "statefulset/db", "--timeout=120s");
  const began = await kubectl.run("exec", "db-0", "--", "cat", "/data/began");
  const images = join(stateDir, "pools", "default", "images");
  const [image] = await readdir(images);
  assert.equal(await up.end("SIGTERM"), 0);
  await copyFile(file, join(stateDir, "newest.mdb"));
  await copyFile(join(stateDir, "then.mdb"), file);

  const stderr = await refusal();
  assert.match(
    stderr,
    /^error: \S+store\.mdb is an older state: it is of revision \d+, and the store had come to \d+ /m,
  );
  assert.match(stderr, new RegExp(`^next: .*\`mooring state restore --state-dir ${stateDir}\``, "m"));
  const doctor = await mooring("doctor", "--state-dir", stateDir);
  assert.match(doctor.stdout, /^store +fail +.*is an older state/m);
  const checked = await state("check");
  assert.equal(checked.code, 1);
  assert.match(checked.stderr, /is an older state.*\nnext: .*mooring state restore/);
  assert.deepEqual(await readdir(images), [image]);
  await nothingRemains(stateDir);

  await copyFile(join(stateDir, "newest.mdb"), file);
  await up.start();
  await kubectl.run("rollout", "status", "statefulset/db", "--timeout=120s");
  assert.equal(await kubectl.run("exec", "db-0", "--", "cat", "/data/began"), began);
  assert.equal(await up.end("SIGTERM"), 0);

  await copyFile(join(stateDir, "then.mdb"), file);
  const next = /To go on from this one, .*: `mooring (state restore .*)`/.exec(await refusal())?.[1];
  const goOn = await mooring(...(next ?? "").split(" "));
  assert.equal(goOn.code, 0, goOn.stderr);
  await up.start();
  assert.match(await kubectl.run("get", "statefulset/db"), /0\/0/);
  assert.match(
    (await mooring("doctor", "--state-dir", stateDir)).stdout,
    new RegExp(`${image}.* is in pool default, but no`),
  );
});
