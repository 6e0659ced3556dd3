import assert from "node:assert/strict";
import { join } from "node:path";
import { before, test } from "node:test";
import { Events } from "@mooring/store";
import { eventually as until } from "@mooring/store/testing";
import { smallRoot } from "../../images/testing/small-image.ts";
import { assertNothingLeft, eventually, Pods, phase, pod } from "../testing/test-cluster.ts";
import { volumeCluster } from "../testing/volume-cluster.ts";

const { cluster, folder, remove } = await volumeCluster();
const { store } = cluster;
const root = join(folder, "root");
before(() => smallRoot(root, {}));

const STAY = "while :; do sleep 1; done";
const FILL = (file: string) => `head -c 4000000 /dev/zero > ${file}; ${STAY}`;
const within = (limit: string) => ({ limits: { "ephemeral-storage": limit } });

async function evicted(name: string): Promise<string | undefined> {
  const seen = await eventually(store, Pods, name, phase("Failed"));
  assert.equal(seen?.status?.reason, "Evicted");
  assert.ok(seen?.status?.containerStatuses?.every(({ state }) => state?.terminated !== undefined));
  return seen?.status?.message;
}

test("pods that write more to the machine's disk than they may are evicted, others stay", async () => {
  const command = (script: string) => ["sh", "-c", script];
  const mounts = { volumeMounts: [{ name: "scratch", mountPath: "/scratch" }] };
  await store.create(Pods, {
    ...pod("scratch", "", {
      restartPolicy: "Always",
      volumes: [{ name: "scratch", emptyDir: { sizeLimit: "1Mi" } }],
      containers: [{ name: "main", image: "host", command: command(FILL("/scratch/file")), ...mounts }],
    }),
  });
  await store.create(Pods, {
    ...pod("layer", "", {
      containers: [
        { name: "main", image: `dir:${root}`, command: command(FILL("/file")), resources: within("1Mi") },
        { name: "other", image: "host", command: command(STAY), resources: within("64Mi") },
      ],
    }),
  });
  const chatty = `head -c 4000000 /dev/zero | tr '\\0' '\\n'; ${STAY}`;
  const log = { name: "main", image: "host", command: command(chatty) };
  await store.create(Pods, pod("log", "", { containers: [{ ...log, resources: within("1Mi") }] }));
  const hanging = {
    postStart: { exec: { command: command("head -c 4000000 /dev/zero >/scratch/file; exec sleep 100000") } },
  };
  await store.create(Pods, {
    ...pod("hook", "", {
      volumes: [{ name: "scratch", emptyDir: { sizeLimit: "1Mi" } }],
      containers: [{ name: "main", image: "host", command: command(STAY), ...mounts, lifecycle: hanging }],
    }),
  });
  await store.create(Pods, {
    ...pod("modest", "", {
      volumes: [{ name: "scratch", emptyDir: { sizeLimit: "16Mi" } }],
      containers: [
        {
          name: "main",
          image: "host",
          command: command(FILL("/scratch/file")),
          ...mounts,
          resources: within("32Mi"),
        },
      ],
    }),
  });
  const total = "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ";
  assert.equal(await evicted("scratch"), 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". ');
  assert.equal(await evicted("layer"), 'Container main exceeded its local ephemeral storage limit "1Mi". ');
  assert.equal(await evicted("log"), total);
  // Not after the minute that its hook may take.
  assert.equal(await evicted("hook"), 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". ');
  const noted = await until("an event of each", async () => {
    const events = (await store.list(Events)).items.filter(({ reason }) => reason === "Evicted");
    return events.length >= 4 && events.map((each) => each.involvedObject?.name);
  });
  assert.deepEqual(noted.sort(), ["hook", "layer", "log", "scratch"]);
  const modest = await store.get(Pods, { namespace: "default", name: "modest" });
  assert.equal(modest.status?.phase, "Running");
  // Its reason outlives the process that evicted it, and it does not run again.
  await cluster.stopKubelet();
  await assertNothingLeft(join(folder, "kubelet"));
  await cluster.startKubelet();
  assert.equal((await store.get(Pods, { namespace: "default", name: "scratch" })).status?.reason, "Evicted");
  for (const name of ["scratch", "layer", "log", "hook", "modest"]) await remove(name);
});
