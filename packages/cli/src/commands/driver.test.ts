import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, open, readdir, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { connect } from "@mooring/csi";
import { covers, everyday, thorough } from "@mooring/store/testing";

const MOORING = fileURLToPath(new URL("../../../../dist/mooring.mjs", import.meta.url));

interface Run {
  child: ChildProcess;
  output(): string;
  /** Exit code, or the signal's name. */
  ended: Promise<number | string | null>;
}

describe("mooring driver", () => {
  let folder: string;
  const running = new Set<ChildProcess>();
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mooring-cli-"));
  });
  after(async () => {
    for (const child of running) child.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  const run = (args: string[], env: Record<string, string> = {}): Run => {
    const { CSI_ENDPOINT: _none, ...rest } = process.env;
    const child = spawn(process.execPath, [MOORING, "driver", ...args], {
      env: { ...rest, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    running.add(child);
    let output = "";
    child.stderr?.on("data", (data: Buffer) => {
      output += data.toString();
    });
    const ended = once(child, "close").then(([code, signal]) => {
      running.delete(child);
      return (code ?? signal) as number | string | null;
    });
    return { child, output: () => output, ended };
  };
  const refused = async (args: string[], env: Record<string, string>, exit: number, message: RegExp) => {
    const { ended, output } = run(args, env);
    assert.equal(await ended, exit, output());
    assert.match(output(), message);
    assert.match(output(), /next: |Allowed choices|error: option/);
  };
  const endpoint = (name: string) => `unix://${join(folder, name)}.sock`;
  const state = (name: string) => [
    "--state-dir",
    join(folder, name),
    "--pool",
    "directory",
    "--node-id",
    "n1",
  ];

  test("a missing or unfit endpoint ends it at once with code 2", everyday(), async () => {
    covers("CSI-311", "CSI-318", "CSI-328", "CSI-336");
    await Promise.all([
      refused(state("a"), {}, 2, /CSI_ENDPOINT is not set/),
      refused(state("a"), { CSI_ENDPOINT: "tcp://127.0.0.1:1" }, 2, /not a unix socket/),
      refused(state("a"), { CSI_ENDPOINT: `unix://${folder}/csi` }, 2, /\.sock/),
      refused(state("long"), { CSI_ENDPOINT: endpoint("x".repeat(120)) }, 2, /107/),
    ]);
  });

  test("serves on while its log cannot be written, on a full disk say", thorough(), async () => {
    const socket = endpoint("full");
    const command = ["driver", "--endpoint", socket, "--log-level", "debug", ...state("full")];
    const log = await open("/dev/full", "w");
    const child = spawn(process.execPath, [MOORING, ...command], { stdio: ["ignore", "ignore", log.fd] });
    running.add(child);
    const ended = once(child, "close");
    await log.close();
    const client = await connect(socket, { timeoutMs: 60_000, readyTimeoutMs: 60_000 });
    assert.equal((await client.identity.getPluginInfo({})).name, "csi.mooring.dev");
    client.close();
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
    running.delete(child);
  });

  test("wrong options end it at once with code 2", thorough(), async () => {
    covers("CSI-336");
    const env = { CSI_ENDPOINT: endpoint("csi") };
    await Promise.all([
      refused([...state("b"), "--mode", "everything"], env, 2, /mode/),
      refused([...state("b"), "--node-id", "a b"], env, 2, /node-id/),
      refused([...state("b"), "--pool-size", "large"], env, 2, /pool-size/),
      refused([...state("b"), "--pool-size", "20"], env, 2, /pool-size.*at least 300Mi/),
      refused([...state("b"), "--max-volumes", "0"], env, 2, /max-volumes/),
      refused([...state("b"), "--group-volumes", "false"], env, 2, /group-volumes/),
      refused([...state("b"), "--pool-overcommit", "0.5"], env, 2, /pool-overcommit/),
      refused([...state("b"), "--pool-overcommit", "1e9"], env, 2, /pool-overcommit/),
      refused([...state("b"), "--state-dir", "/proc/none"], env, 2, /\/proc\/none cannot be made/),
    ]);
  });

  test("serves until SIGTERM, then takes its socket away; its folder has one owner", everyday(), async () => {
    covers("CSI-321", "CSI-329", "CSI-335");
    const env = { CSI_ENDPOINT: endpoint("life") };
    const first = run(state("life"), env);
    const client = await connect(env.CSI_ENDPOINT, { timeoutMs: 60_000, readyTimeoutMs: 60_000 });
    assert.equal((await client.identity.getPluginInfo({})).name, "csi.mooring.dev");
    assert.equal((await stat(join(folder, "life.sock"))).mode & 0o777, 0o600);
    const second = run(state("life"), { CSI_ENDPOINT: endpoint("other") });
    assert.equal(await second.ended, 3);
    const { pid } = first.child;
    assert.match(
      second.output(),
      new RegExp(`in use by process ${pid}\\nnext: stop that process \\(kill ${pid}\\)`),
    );
    const third = run(state("third"), env);
    assert.equal(await third.ended, 3);
    assert.match(third.output(), /another process listens/);
    client.close();
    first.child.kill("SIGTERM");
    assert.equal(await first.ended, 0, first.output());
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.endsWith(".sock")),
      [],
    );
  });

  test("every mode serves its own services, and UNIMPLEMENTED for the rest", thorough(), async () => {
    covers("CSI-007", "CSI-012", "CSI-138", "CSI-161", "CSI-175", "CSI-224", "CSI-231", "CSI-334");
    for (const [mode, controller, node] of [
      ["controller", true, false],
      ["node", false, true],
    ] as const) {
      const env = { CSI_ENDPOINT: endpoint(mode) };
      const driver = run([...state(mode), "--mode", mode], env);
      const client = await connect(env.CSI_ENDPOINT, { timeoutMs: 60_000, readyTimeoutMs: 60_000 });
      const served = async (call: Promise<unknown>) =>
        call.then(
          () => true,
          (error: { codeName?: string }) => error.codeName !== "UNIMPLEMENTED",
        );
      const id = { volumeId: "v-1", snapshotId: "s-1", sourceVolumeId: "v-1", name: "n", nodeId: "n" };
      const c = client.controller;
      const calls = [c.createVolume(id), c.deleteVolume(id), c.controllerPublishVolume(id)];
      const more = [c.controllerUnpublishVolume(id), c.createSnapshot(id), c.deleteSnapshot(id)];
      const responses = await Promise.all([...calls, ...more].map(served));
      assert.deepEqual(new Set(responses), new Set([controller]));
      assert.equal(await served(client.controller.controllerGetCapabilities({})), controller);
      assert.equal(await served(client.node.nodeGetCapabilities({})), node);
      const { capabilities } = await client.identity.getPluginCapabilities({});
      const services = capabilities.flatMap(({ type }) => (type.case === "service" ? [type.value.type] : []));
      assert.equal(services.includes(1), controller);
      client.close();
      driver.child.kill("SIGTERM");
      assert.equal(await driver.ended, 0, driver.output());
    }
  });

  test(
    "it reports to a scraper every call it served, where it was asked to and nowhere else",
    thorough(),
    async () => {
      const env = { CSI_ENDPOINT: endpoint("metrics") };
      const driver = run([...state("metrics"), "--metrics-listen", "127.0.0.1:0"], env);
      const client = await connect(env.CSI_ENDPOINT, { timeoutMs: 60_000, readyTimeoutMs: 60_000 });
      await client.v0.identity.getPluginInfo({});
      await client.controller.controllerGetVolume({ volumeId: "none" }).catch(() => {});
      await client.controller.deleteVolume({}).catch(() => {});
      const port = /"port":(\d+),"msg":"serving metrics"/.exec(driver.output())?.[1];
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      for (const [method, code] of [
        ["v0.Identity/GetPluginInfo", "OK"],
        ["v1.Controller/ControllerGetVolume", "NotFound"],
        ["v1.Controller/DeleteVolume", "InvalidArgument"],
      ]) {
        const labels = `driver_name="csi.mooring.dev",method_name="/csi.${method}",grpc_status_code="${code}"`;
        assert.ok(text.includes(`csi_plugin_operations_seconds_count{${labels}} 1\n`), text);
        assert.ok(text.includes(`csi_plugin_operations_seconds_bucket{${labels},le="600"} 1\n`), text);
      }
      assert.match(text, /^process_resident_memory_bytes \d{7,}$/m);
      const second = run([...state("second"), "--metrics-listen", `:${port}`], {
        CSI_ENDPOINT: endpoint("2"),
      });
      assert.equal(await second.ended, 3, second.output());
      assert.match(second.output(), /another process listens on/);
      client.close();
      driver.child.kill("SIGTERM");
      assert.equal(await driver.ended, 0, driver.output());
      await refused(
        [...state("b"), "--metrics-listen", "9810"],
        env,
        2,
        /--metrics-listen 9810.*\nnext: write it like 127\.0\.0\.1:9810/,
      );
      await refused([...state("b"), "--metrics-listen", "192.0.2.1:9810"], env, 2, /cannot be had/);
    },
  );

  test("a damaged store is reported as that, and is not put down to a version", everyday(), async () => {
    const store = join(folder, "damaged", "store");
    await mkdir(store, { recursive: true });
    await writeFile(join(store, "store.mdb"), "nonsense".repeat(4096));
    const { ended, output } = run(state("damaged"), { CSI_ENDPOINT: endpoint("damaged") });
    assert.equal(await ended, 2, output());
    assert.match(
      output(),
      /next: put back the newest copy with `mooring state restore --state-dir \S+damaged`/,
    );
  });

  test("a cluster that decides without it is refused at once, with what runs there", thorough(), async () => {
    const server = createServer((request, response) =>
      response.writeHead(request.url === "/version" ? 200 : 404).end('{"gitVersion":"v1.35.4"}'),
    ).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const kubeconfig = join(folder, "cluster.kubeconfig");
    const clusters = [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }];
    const contexts = [{ name: "c", context: { cluster: "c", user: "u" } }];
    const users = [{ name: "u", user: {} }];
    await writeFile(kubeconfig, JSON.stringify({ clusters, contexts, users, "current-context": "c" }));
    for (const mode of ["controller", "node"]) {
      const args = [...state(mode), "--mode", mode, "--kubeconfig", kubeconfig];
      const why =
        /of a Kubernetes cluster \(v1\.35\.4\), where no arbiter attaches.*\nnext: run `mooring controller --engine` there/;
      await refused(args, { CSI_ENDPOINT: endpoint(`cluster-${mode}`) }, 2, why);
    }
    server.close();
  });

  test("a state folder that contains something else is refused with code 2", thorough(), async () => {
    await writeFile(join(folder, "file"), "");
    await refused(state("file"), { CSI_ENDPOINT: endpoint("file") }, 2, /file/);
  });
});
