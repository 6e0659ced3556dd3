import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { PersistentVolumeClaims, PersistentVolumes, type Pod, Pods, Secrets } from "@mooring/store";
import { eventually, everyday, thorough } from "@mooring/store/testing";
import { KUBECTL, Kubectl } from "../support/kubectl.ts";
import { claim, pod } from "../support/manifests.ts";
import { parseScrape } from "../support/prometheus.ts";
import { command } from "./support/command.ts";
import { pairOfNodes } from "./support/pair.ts";
import { nodeIs } from "./support/pods.ts";
import type { Nodes } from "./support/world.ts";

const NAMESPACE = "default";

describe("logs of pods on a machine that has joined, and streams into them", () => {
  let nodes: Nodes;
  after(async () => {
    const store = await nodes?.store();
    for (const { metadata } of (await store?.list(Pods, { namespace: NAMESPACE }))?.items ?? [])
      await store?.delete(Pods, { namespace: NAMESPACE, name: metadata.name });
  });
  before(async () => {
    nodes = await pairOfNodes();
    await run("talker", "echo first; echo second; exec sleep infinity");
  });

  async function run(name: string, script: string): Promise<void> {
    const store = await nodes.store();
    const plain = pod(NAMESPACE, name, script);
    const spec = { ...plain.spec, nodeSelector: { "kubernetes.io/hostname": "a" } };
    await store.create(Pods, { ...plain, spec } as Pod);
    await untilRunning(name);
  }

  /** Before, its container has no log, and `kubectl logs` fails. */
  async function untilRunning(name: string): Promise<void> {
    const store = await nodes.store();
    await eventually(`pod ${name} to run`, async () => {
      const { status } = await store.get(Pods, { namespace: NAMESPACE, name });
      return status?.phase === "Running";
    });
  }

  async function log(...args: string[]): Promise<string> {
    return nodes.kubectl.run("logs", "talker", ...args);
  }

  async function access(): Promise<{ host: string; port: number; token: string }> {
    const store = await nodes.store();
    const key = { namespace: "kube-system", name: "mooring-node-logs-a" };
    const { data = {} } = await store.get(Secrets, key);
    const field = (name: string) => Buffer.from(data[name] ?? "", "base64").toString();
    return { host: field("host"), port: Number(field("port")), token: field("token") };
  }

  test(
    "are what kubectl shows, with its options and its messages for what is not there",
    everyday(),
    async () => {
      assert.equal(await eventually("the log", async () => (await log()) || undefined), "first\nsecond\n");
      assert.equal(await log("--tail=1"), "second\n");
      assert.equal(await log("--limit-bytes=5"), "first");
      assert.match(await log("--timestamps"), /^\d{4}-\d\d-\d\dT[^ ]+ first\n/);
      await assert.rejects(
        log("--previous"),
        /previous terminated container "main" in pod "talker" not found/,
      );
      await assert.rejects(log("-c", "other"), /container other is not valid for pod talker/);
    },
  );

  for (const [how, variables] of [
    ["in WebSockets", {}],
    ["over SPDY", { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false" }],
  ] as const) {
    test(
      `programs are run and files copied there ${how}, as on the API server's own machine`,
      everyday(),
      async () => {
        const kubectl = new Kubectl(nodes.up.kubeconfig, variables);
        assert.equal(await kubectl.run("exec", "talker", "--", "sh", "-c", "echo $HOSTNAME"), "talker\n");
        await assert.rejects(kubectl.run("exec", "talker", "--", "sh", "-c", "exit 7"), /exit code 7/);
        await assert.rejects(kubectl.run("exec", "talker", "--", "no-such-program"), /not found/);
        const folder = await mkdtemp(join(tmpdir(), "mooring-copy-"));
        try {
          const bytes = randomBytes(1024 * 1024);
          await writeFile(join(folder, "there"), bytes);
          await kubectl.run("cp", join(folder, "there"), "talker:/tmp/file");
          await kubectl.run("cp", "talker:/tmp/file", join(folder, "back"));
          assert.ok(bytes.equals(await readFile(join(folder, "back"))));
        } finally {
          await rm(folder, { recursive: true });
        }
      },
    );

    test(
      `what a container writes is shown by attach ${how}, and who leaves a program takes it along`,
      thorough(),
      async () => {
        const name = `beats-${how.split(" ")[1]?.toLowerCase()}`;
        await run(name, "while :; do echo beat; sleep 0.2; done");
        const start = (...args: string[]) =>
          spawn(KUBECTL, ["--kubeconfig", nodes.up.kubeconfig, ...args], {
            ...{ stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...variables } },
          });
        const attached = start("attach", name);
        const seconds = `9${name.length}4321`;
        const program = start("exec", name, "--", "sleep", seconds);
        try {
          let seen = "";
          attached.stdout?.on("data", (chunk: Buffer) => {
            seen += chunk.toString();
          });
          await eventually("a line of the container", () => seen.includes("beat\n"));
          const runs = async () =>
            (await nodes.kubectl.run("exec", name, "--", "ps", "ax")).includes(`sleep ${seconds}`);
          await eventually("the program to run", runs);
          program.kill("SIGKILL");
          await eventually("the program to have ended", async () => !(await runs()));
        } finally {
          attached.kill("SIGKILL");
          program.kill("SIGKILL");
        }
      },
    );
  }

  test("ports are forwarded there, as on the API server's own machine", everyday(), async () => {
    const { kubectl } = nodes;
    await run(
      "echo",
      `exec ${process.execPath} -e 'require("net").createServer((s) => s.pipe(s)).listen(7007, () => console.log("listens"))'`,
    );
    // kubectl ends when no other end does.
    await eventually("the program to listen", async () =>
      (await kubectl.run("logs", "echo")).includes("listens"),
    );
    const args = ["--kubeconfig", nodes.up.kubeconfig, "port-forward", "pod/echo", ":7007"];
    const child = spawn(KUBECTL, args, { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const [line] = (await once(child.stdout, "data")) as [Buffer];
      const port = Number(/127\.0\.0\.1:(\d+)/.exec(line.toString())?.[1]);
      const echoed = await eventually("the program to respond", async () => {
        const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
        socket.end("over two machines");
        return (await text(socket)) || undefined;
      });
      assert.equal(echoed, "over two machines");
    } finally {
      child.kill();
    }
  });

  test("what their claims have left is in /metrics, by node", thorough(), async () => {
    const store = await nodes.store();
    await store.create(PersistentVolumeClaims, claim(NAMESPACE, "measured", { size: "64Mi" }));
    const writer = pod(NAMESPACE, "measured", "df -B1 --output=size /data; exec sleep infinity", {
      mounts: { "/data": "measured" },
    });
    const spec = { ...writer.spec, nodeSelector: { "kubernetes.io/hostname": "a" } };
    await store.create(Pods, { ...writer, spec } as Pod);
    await untilRunning("measured");
    const names = ["capacity", "used", "available"];
    const scraped = await eventually("the claim to be measured", async () => {
      const families = parseScrape(await nodes.kubectl.run("get", "--raw", "/metrics"));
      const values = names.map((name) => {
        const samples = families.get(`kubelet_volume_stats_${name}_bytes`)?.samples ?? [];
        return samples.filter(({ labels }) => labels["persistentvolumeclaim"] === "measured");
      });
      return values.every((each) => each.length > 0) ? values.flat() : undefined;
    });
    const labels = { namespace: NAMESPACE, persistentvolumeclaim: "measured", node: "a" };
    for (const sample of scraped) assert.deepEqual(sample.labels, labels);
    // The pool is a folder: others use the same disk meanwhile.
    const size = await eventually("the pod to say how large it is", async () =>
      /\d{6,}/.exec(await nodes.kubectl.run("logs", "measured"))?.at(0),
    );
    assert.equal(scraped[0]?.value, Number(size));
    await store.delete(Pods, { namespace: NAMESPACE, name: "measured" });
    await store.delete(PersistentVolumeClaims, { namespace: NAMESPACE, name: "measured" });
    // Its deletion must not be under way when the machine loses its network: events are late then, and count as missed.
    await eventually(
      "its volume to be deleted",
      async () => (await store.list(PersistentVolumes)).items.length === 0,
    );
  });

  test("can be followed while they are written, to the end of the container", thorough(), async () => {
    const lines = "for n in 1 2 3; do echo line $n; while [ ! -e /tmp/go$n ]; do sleep 0.1; done; done";
    await run("counter", lines);
    const follow = spawn(KUBECTL, ["--kubeconfig", nodes.up.kubeconfig, "logs", "-f", "counter"]);
    const ended = once(follow, "close");
    let seen = "";
    follow.stdout.on("data", (chunk: Buffer) => {
      seen += chunk.toString();
    });
    try {
      for (const n of [1, 2, 3]) {
        await eventually(`line ${n} to be seen, not only ${JSON.stringify(seen)}`, async () =>
          seen.endsWith(`line ${n}\n`),
        );
        await release("counter", n);
      }
      await ended;
      assert.equal(seen, "line 1\nline 2\nline 3\n");
      assert.equal(follow.exitCode, 0);
    } finally {
      follow.kill();
    }
  });

  /** Pods have a /tmp of their own. */
  async function release(name: string, step: number): Promise<void> {
    const pids = await nodes.machine("a").processes();
    for (const pid of pids) {
      const environment = await command("cat", `/proc/${pid}/environ`).catch(() => "");
      if (!environment.includes(`HOSTNAME=${name}`)) continue;
      await command("nsenter", "--target", String(pid), "--mount", "--root", "touch", `/tmp/go${step}`);
      return;
    }
    throw new Error(`no process of pod ${name}`);
  }

  test(
    "are given to nobody without the token, and only on the address that leads to the API server",
    everyday(),
    async () => {
      const { host, port, token } = await access();
      assert.equal(host, nodes.machine("a").seat.address);
      const codeFor = (authorization: string, path = "/logs?namespace=default&pod=talker", more = {}) =>
        new Promise<number | undefined>((resolve, reject) => {
          const headers = { authorization, ...more };
          const asked = request({ host, port, path, headers, rejectUnauthorized: false }, (response) => {
            response.resume();
            resolve(response.statusCode);
          });
          asked.on("error", reject).end();
        });
      assert.equal(await codeFor("Bearer wrong"), 401);
      assert.equal(await codeFor(`Bearer ${"x".repeat(token.length)}`), 401);
      assert.equal(await codeFor(`Bearer ${token}`), 200);
      assert.equal(await codeFor(`Bearer ${token}`, "/etc/passwd"), 404);
      const upgrade = {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-protocol": "v5.channel.k8s.io",
      };
      const program = "/exec?namespace=default&pod=talker&container=main&command=id&stdout=true";
      assert.equal(await codeFor("Bearer wrong", program, upgrade), 401);
      assert.equal(await codeFor("Bearer wrong", "/portforward?namespace=default&pod=talker", upgrade), 401);
      assert.equal(await codeFor(`Bearer ${token}`, "/logs?namespace=default&pod=talker&tailLines=-1"), 400);
      assert.ok(!nodes.machine("a").output.includes(token), "the token is in the node's output");
      const listening = await nodes
        .machine("a")
        .run("ss", "--listening", "--tcp", "--no-header", "--numeric");
      const sockets = listening.split("\n").filter((line) => line.includes(`:${port} `));
      assert.equal(sockets.length, 1);
      assert.match(sockets[0] ?? "", new RegExp(` ${host.replaceAll(".", "\\.")}:${port} `));
    },
  );

  test("end with a reason when the machine is lost, and are there again with it", thorough(), async () => {
    const follow = spawn(KUBECTL, ["--kubeconfig", nodes.up.kubeconfig, "logs", "-f", "talker"]);
    let seen = "";
    follow.stdout.on("data", (chunk: Buffer) => {
      seen += chunk.toString();
    });
    await eventually("the log to be followed", async () => seen.includes("second"));
    const ended = once(follow, "close");
    await nodes.machine("a").seat.link("down");
    // Not yet known to be lost, and already not to be reached.
    await assert.rejects(log(), /kept on node "a", which cannot be asked: (connect E|no connection within)/);
    await nodeIs(nodes, "a", "Unknown");
    await ended;
    assert.match(seen, /kept on node "a", which cannot be asked: the node has not been ready since/);
    await assert.rejects(log(), /which cannot be asked: the node has not been ready since/);
    await nodes.machine("a").seat.link("up");
    await nodeIs(nodes, "a", "True");
    // On a busy machine its lease may be late once more.
    const again = await eventually("the log to be there again", () => log(), { mayThrow: true });
    assert.equal(again, "first\nsecond\n");
  });

  test(
    "are reported as away when the node was stopped, and nothing of the way to them is left",
    thorough(),
    async () => {
      await nodes.machine("a").stop();
      await assert.rejects(access(), /not found/);
      await assert.rejects(log(), /cannot be asked: Mooring was stopped there/);
      await assert.rejects(
        nodes.kubectl.run("exec", "talker", "--", "true"),
        /runs on node "a", which cannot be reached: Mooring was stopped there/,
      );
    },
  );
});
