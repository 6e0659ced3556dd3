import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type CsiClient, connect, v0, v1 } from "@mooring/csi";
import { covers, eventually, everyday, sample, thorough } from "@mooring/store/testing";
import { apart } from "../../packages/engine/src/testing/apart.ts";
import { afterFile } from "../support/at-end.ts";
import { filesBelow, nothingRemains } from "../support/remains.ts";
import { prepareDriver } from "./support/driver.ts";
import { MooringProcess, plainEnvironment } from "./support/process.ts";
import { startTwoNodes } from "./support/two-nodes.ts";
import { wireCall } from "./support/wire.ts";

const folder = await mkdtemp(join(tmpdir(), "mooring-csi-process-"));
afterFile(async () => {
  await nothingRemains(folder);
  await rm(folder, { recursive: true, force: true });
});

async function refused(args: string[], env: NodeJS.ProcessEnv): Promise<{ code: unknown; text: string }> {
  const child = new MooringProcess(["driver", "--state-dir", join(folder, "refused"), ...args], {
    ...plainEnvironment(),
    ...env,
  });
  const timer = setTimeout(() => void child.end("SIGKILL"), 120_000);
  const code = await child.ended();
  clearTimeout(timer);
  return { code, text: child.stderr };
}

const GOOD = `unix://${folder}/csi.sock`;
/** Far enough to come to the socket, without the pool of the others. */
const APART = ["--state-dir", join(folder, "apart"), "--pool", "directory"];
const MISTAKES: readonly [string, string[], NodeJS.ProcessEnv, RegExp][] = [
  ["no endpoint", [], {}, /CSI_ENDPOINT/],
  ["a TCP endpoint", [], { CSI_ENDPOINT: "tcp://127.0.0.1:10000" }, /unix/],
  ["an endpoint without .sock", [], { CSI_ENDPOINT: `unix://${folder}/csi` }, /\.sock/],
  ["an endpoint that is no absolute path", [], { CSI_ENDPOINT: "unix://csi.sock" }, /unix/],
  ["a socket path that is too long", [], { CSI_ENDPOINT: `unix:///${"x".repeat(120)}.sock` }, /107/],
  [
    "a socket in a folder that cannot be made",
    APART,
    { CSI_ENDPOINT: "unix:///proc/none/csi.sock" },
    /the socket's folder \/proc\/none cannot be made[\s\S]*next: choose an endpoint/,
  ],
  [
    "a socket below a file",
    APART,
    { CSI_ENDPOINT: "unix:///proc/self/comm/csi.sock" },
    /the socket's folder \/proc\/self\/comm cannot be made[\s\S]*next: choose an endpoint/,
  ],
  [
    "a socket where there can be none",
    APART,
    { CSI_ENDPOINT: "unix:///proc/csi.sock" },
    /cannot listen on \/proc\/csi\.sock[\s\S]*next: choose an endpoint/,
  ],
  ["an unknown mode", ["--mode", "sideways"], { CSI_ENDPOINT: GOOD }, /controller.*node.*all/s],
  ["an unknown pool type", ["--pool", "zfs"], { CSI_ENDPOINT: GOOD }, /xfs.*btrfs.*directory/s],
  ["a size that is none", ["--pool-size", "plenty"], { CSI_ENDPOINT: GOOD }, /20Gi/],
  ["a node id that is none", ["--node-id", "a/b"], { CSI_ENDPOINT: GOOD }, /63/],
];

test("a wrong configuration ends the driver at once, with 2 and what to do", async () => {
  covers("CSI-311", "CSI-328", "CSI-336");
  for (const [what, args, env, text] of sample(MISTAKES, { everyday: 2 })) {
    const { code, text: output } = await refused(args, env);
    assert.equal(code, 2, `${what}: ${output}`);
    assert.match(output, text, what);
    if (env["CSI_ENDPOINT"] !== GOOD) assert.doesNotMatch(output, /state folder|--state-dir/, what);
  }
});

test(
  "with nothing but CSI_ENDPOINT it starts; every setting has a variable of its own name",
  thorough(),
  async () => {
    covers("CSI-310", "CSI-319", "CSI-320", "CSI-325");
    // Its default state folder lies below /var/lib: it gets one of its own, in a mount namespace of its own.
    const script = (lib: string) => `mount --bind ${lib} /var/lib && exec "$0" "$@"`;
    const variables = { MOORING_POOL: "directory", MOORING_NODE_ID: "by-variable", MOORING_MAX_VOLUMES: "7" };
    for (const [index, env] of [{}, variables].entries()) {
      const lib = join(folder, `lib-${index}`);
      await mkdir(lib);
      const wrapper = ["unshare", ...apart(lib, "sh", "-c", script(lib))];
      const child = new MooringProcess(
        ["driver"],
        { ...plainEnvironment(), CSI_ENDPOINT: GOOD, ...env },
        wrapper,
      );
      const client = await connect(GOOD, { timeoutMs: 30_000 });
      try {
        const ready = () =>
          client.identity.probe({}).then(
            (response) => response.ready,
            () => false,
          );
        await eventually(`the driver\n${child.stderr}`, ready);
        const info = await client.node.nodeGetInfo({});
        if (env === variables) assert.deepEqual([info.nodeId, info.maxVolumesPerNode], ["by-variable", 7n]);
        else assert.equal(info.maxVolumesPerNode, 1000n);
      } finally {
        client.close();
        assert.equal(await child.end("SIGTERM"), 0, child.stderr);
      }
      assert.ok((await readdir(join(lib, "mooring"))).includes("store"));
    }
  },
);

test(
  "a pool stays of its type: another one ends the driver with 2, the same one starts again",
  thorough(),
  async () => {
    covers("CSI-336");
    const driver = await prepareDriver({ pool: "directory" });
    try {
      await driver.start();
      assert.equal(await driver.process.end("SIGTERM"), 0, driver.output);
      for (const pool of ["xfs", "btrfs"]) {
        const { code, text } = await refused(["--state-dir", driver.stateDir, "--pool", pool], {
          CSI_ENDPOINT: driver.endpoint,
        });
        assert.equal(code, 2, text);
        assert.match(
          text,
          new RegExp(`pool "default" is of type directory, not ${pool}[^]*next: .*--pool directory`),
        );
      }
      await driver.start();
    } finally {
      await driver.dispose();
    }
  },
);

test(
  "the help names a variable for every setting; only the specification's begins with CSI_",
  everyday(),
  async () => {
    covers("CSI-319", "CSI-326");
    const help = new MooringProcess(["driver", "--help"], plainEnvironment());
    assert.equal(await help.ended(), 0);
    const options = help.stdout.split(/\n(?= {2}--)/).slice(1);
    assert.ok(options.length >= 8, help.stdout);
    for (const option of options) assert.match(option, /env:\s+(CSI_ENDPOINT|MOORING_\w+)/, option);
    assert.deepEqual([...new Set(help.stdout.match(/\bCSI_\w+/g))], ["CSI_ENDPOINT"]);
  },
);

const MODES = {
  controller: { controller: 0, node: 12, service: true },
  node: { controller: 12, node: 0, service: false },
  all: { controller: 0, node: 0, service: true },
} as const;

for (const mode of sample(["controller", "node", "all"] as const, { everyday: 1 })) {
  test(`mode ${mode} serves its services, and logs to its output only`, async () => {
    covers("CSI-007", "CSI-016", "CSI-334", "CSI-335", "CSI-331");
    const driver = await prepareDriver({ mode, pool: "directory", logLevel: "debug" });
    try {
      await driver.start();
      const { client } = driver;
      const code = (call: Promise<unknown>) =>
        call.then(
          () => 0,
          (error: { code: number }) => error.code,
        );
      assert.equal(await code(client.controller.listVolumes({})), MODES[mode].controller);
      assert.equal(await code(client.node.nodeGetInfo({})), MODES[mode].node);
      assert.ok((await client.identity.getPluginInfo({})).name);
      assert.ok(await client.identity.probe({}));
      const { capabilities } = await client.identity.getPluginCapabilities({});
      const controller = capabilities.some(({ type }) => type.case === "service" && type.value.type === 1);
      assert.equal(controller, MODES[mode].service);
      const files = await filesBelow(driver.stateDir);
      assert.deepEqual(
        files.filter((file) => /log/i.test(file) && !/\/store\//.test(file)),
        [],
      );
      assert.match(driver.output, /GetPluginInfo/, "the calls are logged to its output");
    } finally {
      await driver.dispose();
    }
  });
}

test("what a mode does not serve is UNIMPLEMENTED, before the arguments are read", async () => {
  covers("CSI-128", "CSI-138", "CSI-161", "CSI-175", "CSI-224", "CSI-231", "CSI-300", "CSI-303");
  const off = { controller: v1.Node, node: v1.Controller };
  for (const mode of sample(["controller", "node"] as const, { everyday: 1 })) {
    const driver = await prepareDriver({ mode, pool: "directory" });
    try {
      await driver.start();
      for (const service of [off[mode], { controller: v0.Node, node: v0.Controller }[mode]]) {
        for (const { name } of service.methods) {
          const { status, message } = await wireCall(
            driver.socket,
            `/${service.typeName}/${name}`,
            new Uint8Array(),
          );
          assert.equal(status, 12, `${name}: ${message}`);
          assert.notEqual(message, "");
        }
      }
    } finally {
      await driver.dispose();
    }
  }
});

/** What instances say of the plugin as a whole, by their version. */
async function reportedBy(clients: readonly CsiClient[]): Promise<Map<string, Set<string>>> {
  const reported = new Map<string, Set<string>>();
  for (const { identity } of clients) {
    const { vendorVersion } = await identity.getPluginInfo({});
    const { capabilities } = await identity.getPluginCapabilities({});
    const list = capabilities.map(({ type }) => `${type.case} ${type.value?.type}`).sort();
    reported.set(vendorVersion, (reported.get(vendorVersion) ?? new Set()).add(list.join()));
  }
  return reported;
}

test(
  "all instances of one version report the same of the plugin as a whole, whatever they serve",
  thorough(),
  async () => {
    covers("CSI-048", "CSI-049");
    const drivers = [];
    try {
      for (const mode of ["controller", "node", "all"] as const) {
        const driver = await prepareDriver({ mode, pool: "directory" });
        drivers.push(driver);
        await driver.start();
      }
      const cluster = await startTwoNodes();
      const alone = drivers.map(({ client }) => client);
      const reported = await reportedBy([...alone, cluster.controller, ...Object.values(cluster.nodes)]);
      for (const [version, lists] of reported) assert.equal(lists.size, 1, version);
      // A node-only plugin, which has no CONTROLLER_SERVICE, is of another version than the one with controllers.
      assert.equal(reported.size, 2);
      const [whole, nodeOnly] = [...reported.entries()].sort(([a], [b]) => a.length - b.length);
      assert.match([...(whole?.[1] ?? [])].join(), /service 1/);
      assert.doesNotMatch([...(nodeOnly?.[1] ?? [])].join(), /service 1/);
      assert.match(nodeOnly?.[0] ?? "", /\+node-only$/);
    } finally {
      for (const driver of drivers) await driver.dispose();
    }
  },
);
