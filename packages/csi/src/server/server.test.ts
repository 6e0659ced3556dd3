import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { connect as connectSocket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { covers } from "@mooring/store/testing";
import {
  type CsiClient,
  CsiError,
  type CsiServer,
  connect,
  createServer,
  redact,
  type Services,
  v1,
} from "../index.ts";

let folder: string;
let endpoint: string;
let server: CsiServer | undefined;
let client: CsiClient | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "csi-"));
  endpoint = `unix://${join(folder, "csi.sock")}`;
});
afterEach(async () => {
  client?.close();
  await server?.stop(0);
  client = undefined;
  server = undefined;
  await rm(folder, { recursive: true, force: true });
});

async function serve(services: Services): Promise<CsiClient> {
  server = createServer(services, { endpoint });
  await server.start();
  client = await connect(endpoint);
  return client;
}

function code(name: string): (error: unknown) => boolean {
  return (error) => error instanceof CsiError && error.codeName === name;
}

const mount: v1.VolumeCapability = {
  $typeName: "csi.v1.VolumeCapability",
  accessType: {
    case: "mount",
    value: {
      $typeName: "csi.v1.VolumeCapability.MountVolume",
      fsType: "",
      mountFlags: [],
      volumeMountGroup: "",
    },
  },
  accessMode: {
    $typeName: "csi.v1.VolumeCapability.AccessMode",
    mode: v1.VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER,
  },
};

test("int64 travels as bigint, beyond the range of a double", async () => {
  const { controller } = await serve({
    controller: { getCapacity: () => ({ availableCapacity: 2n ** 62n + 1n }) },
  });
  assert.equal((await controller.getCapacity({})).availableCapacity, 2n ** 62n + 1n);
});

test("a coded error arrives with code, message, reason and hint", async () => {
  const { identity } = await serve({
    identity: {
      probe: () => {
        throw CsiError.failedPrecondition("the pool is missing", { reason: "CSI_NO_POOL", hint: "make one" });
      },
    },
  });
  await assert.rejects(identity.probe({}), (error) => {
    assert.ok(error instanceof CsiError);
    assert.deepEqual(
      [error.codeName, error.reason, error.hint],
      ["FAILED_PRECONDITION", "CSI_NO_POOL", "make one"],
    );
    assert.match(error.message, /the pool is missing/);
    return true;
  });
});

test("whatever a handler throws is a response, and the server lives on", async () => {
  const thrown = [new Error("boom"), "a string", undefined, null, 7];
  const { identity } = await serve({
    identity: {
      probe: () => Promise.reject(thrown.shift()),
      getPluginInfo: () => ({ name: "a.b", vendorVersion: "1" }),
    },
  });
  while (thrown.length > 0) await assert.rejects(identity.probe({}), code("INTERNAL"));
  assert.equal((await identity.getPluginInfo({})).name, "a.b");
});

test("a method or service that is not given returns UNIMPLEMENTED, also to a request that breaks its rules", async () => {
  const { identity, controller, node, v0 } = await serve({ identity: {}, controller: {} });
  await assert.rejects(identity.getPluginInfo({}), code("UNIMPLEMENTED"));
  await assert.rejects(controller.createVolume({}), code("UNIMPLEMENTED"));
  await assert.rejects(v0.controller.createVolume({}), code("UNIMPLEMENTED"));
  await assert.rejects(node.nodeStageVolume({}), code("UNIMPLEMENTED"));
});

test("a caller that gives up aborts the handler's signal", async () => {
  let aborted: Promise<unknown> | undefined;
  const { identity } = await serve({
    identity: {
      probe: (_, { signal }) => {
        aborted = new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason)));
        return aborted.then(() => ({}));
      },
    },
  });
  await assert.rejects(identity.probe({}, { timeoutMs: 1000 }), code("DEADLINE_EXCEEDED"));
  // The server counts from when the request came: to its clock, the caller may have left a moment early.
  assert.match(((await aborted) as Error).name, /^(Timeout|Abort)Error$/);
});

const INVALID: [string, (client: CsiClient) => Promise<unknown>, RegExp][] = [
  [
    "a missing name",
    ({ controller }) => controller.createVolume({ volumeCapabilities: [mount] }),
    /name is required/,
  ],
  [
    "no capability",
    ({ controller }) => controller.createVolume({ name: "a" }),
    /volume_capabilities is required/,
  ],
  [
    "a name of 129 bytes",
    ({ controller }) => controller.createVolume({ name: `${"é".repeat(64)}a`, volumeCapabilities: [mount] }),
    /129 bytes, at most 128/,
  ],
  [
    "a control character in a name",
    ({ controller }) => controller.createVolume({ name: "a\u0007", volumeCapabilities: [mount] }),
    /control character/,
  ],
  [
    "a map of more than 4 KiB",
    ({ controller }) =>
      controller.createVolume({
        name: "a",
        volumeCapabilities: [mount],
        parameters: { k: "x".repeat(4096) },
      }),
    /4097 bytes, at most 4096/,
  ],
  [
    "a negative size",
    ({ controller }) =>
      controller.createVolume({
        name: "a",
        volumeCapabilities: [mount],
        capacityRange: { requiredBytes: -1n },
      }),
    /required_bytes is negative/,
  ],
  [
    "required above limit",
    ({ controller }) =>
      controller.createVolume({
        name: "a",
        volumeCapabilities: [mount],
        capacityRange: { requiredBytes: 9_000_000_000n, limitBytes: 1_000n },
      }),
    /larger than limit_bytes/,
  ],
  [
    "an empty capacity range",
    ({ controller }) =>
      controller.createVolume({ name: "a", volumeCapabilities: [mount], capacityRange: {} }),
    /required_bytes or limit_bytes/,
  ],
  [
    "a capability without access type",
    ({ controller }) => controller.createVolume({ name: "a", volumeCapabilities: [{}] }),
    /access_type is required/,
  ],
  [
    "a source without kind",
    ({ controller }) =>
      controller.createVolume({ name: "a", volumeCapabilities: [mount], volumeContentSource: {} }),
    /volume_content_source.type is required/,
  ],
  [
    "a bad topology key",
    ({ controller }) =>
      controller.createVolume({
        name: "a",
        volumeCapabilities: [mount],
        accessibilityRequirements: { requisite: [{ segments: { "-a": "b" } }] },
      }),
    /no topology key/,
  ],
  [
    "an empty topology value",
    ({ controller }) =>
      controller.createVolume({
        name: "a",
        volumeCapabilities: [mount],
        accessibilityRequirements: { requisite: [{ segments: { a: "" } }] },
      }),
    /no topology value/,
  ],
  [
    "keys that differ in case only",
    ({ controller }) =>
      controller.createVolume({
        name: "a",
        volumeCapabilities: [mount],
        accessibilityRequirements: { requisite: [{ segments: { a: "x", A: "y" } }] },
      }),
    /twice/,
  ],
  ["no volume id", ({ controller }) => controller.deleteVolume({}), /volume_id is required/],
  ["no target path", ({ node }) => node.nodeUnpublishVolume({ volumeId: "v" }), /target_path is required/],
  [
    "negative max_entries",
    ({ controller }) => controller.listVolumes({ maxEntries: -1 }),
    /max_entries is negative/,
  ],
];

test("a request that breaks a field rule is INVALID_ARGUMENT, naming the field", async () => {
  covers("CSI-021", "CSI-022", "CSI-086", "CSI-115", "CSI-119");
  let reached = 0;
  const handler = (): object => {
    reached += 1;
    return {};
  };
  const connected = await serve({
    controller: { createVolume: handler, deleteVolume: handler, listVolumes: handler },
    node: { nodeUnpublishVolume: handler },
  });
  for (const [name, call, message] of INVALID) {
    const expected = (error: unknown): boolean =>
      code("INVALID_ARGUMENT")(error) && message.test(String(error));
    await assert.rejects(call(connected), expected, name);
  }
  assert.equal(reached, 0);
  await connected.controller.createVolume({ name: "é".repeat(64), volumeCapabilities: [mount] });
  assert.equal(reached, 1);
});

test("the same request joins the operation under way; another one is ABORTED, with what runs", async () => {
  let calls = 0;
  let finish: (() => void) | undefined;
  const { controller } = await serve({
    controller: {
      deleteVolume: async () => {
        calls += 1;
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return {};
      },
      controllerExpandVolume: () => ({ capacityBytes: 1n, nodeExpansionRequired: false }),
    },
  });
  const first = controller.deleteVolume({ volumeId: "v" });
  while (finish === undefined) await new Promise((resolve) => setImmediate(resolve));
  const second = controller.deleteVolume({ volumeId: "v" });
  const expand = controller.controllerExpandVolume({ volumeId: "v", capacityRange: { requiredBytes: 1n } });
  await assert.rejects(
    expand,
    (error) => code("ABORTED")(error) && /DeleteVolume v is under way/.test((error as Error).message),
  );
  finish();
  await Promise.all([first, second]);
  assert.equal(calls, 1);
});

test("an operation keeps its object until it really ends, also when its caller is gone", async () => {
  let finish: (() => void) | undefined;
  const { controller } = await serve({
    controller: {
      deleteVolume: async () => {
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return {};
      },
    },
  });
  const leave = new AbortController();
  const left = controller.deleteVolume({ volumeId: "v" }, { signal: leave.signal });
  while (finish === undefined) await new Promise((resolve) => setImmediate(resolve));
  leave.abort();
  await assert.rejects(left, code("CANCELLED"));
  await assert.rejects(controller.deleteVolume({ volumeId: "v", secrets: { a: "b" } }), code("ABORTED"));
  finish();
});

test("secrets and mount flags never reach a log, at any depth", () => {
  const text = JSON.stringify(
    redact(
      v1.NodeStageVolumeRequestSchema,
      create(v1.NodeStageVolumeRequestSchema, {
        volumeId: "v",
        publishContext: {},
        stagingTargetPath: "/s",
        secrets: { password: "hunter2" },
        volumeContext: { a: "b" },
        volumeCapability: {
          ...mount,
          accessType: {
            case: "mount",
            value: {
              $typeName: "csi.v1.VolumeCapability.MountVolume",
              fsType: "ext4",
              mountFlags: ["password=hunter2"],
              volumeMountGroup: "",
            },
          },
        },
      }),
    ),
  );
  assert.doesNotMatch(text, /hunter2/);
  assert.match(text, /"password":"\*\*\*stripped\*\*\*"/);
  assert.match(text, /"fs_type":"ext4"/);
});

test("the socket is there for its owner only, and gone after stop", async () => {
  covers("CSI-313");
  await serve({ identity: {} });
  const path = join(folder, "csi.sock");
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  await server?.stop();
  await assert.rejects(stat(path), { code: "ENOENT" });
});

/** A process that listens on the path; killed, it leaves its socket behind as a crash would. */
async function listenElsewhere(path: string): Promise<ChildProcess> {
  const program = "require('net').createServer().listen(process.argv[1], () => console.log('listening'))";
  const child = spawn(process.execPath, ["-e", program, path], { stdio: ["ignore", "pipe", "inherit"] });
  assert.ok(child.stdout);
  await once(child.stdout, "data");
  return child;
}

test("a socket that accepts calls is refused and stays; the one that its dead process left behind is replaced", async (t) => {
  const path = join(folder, "csi.sock");
  const other = await listenElsewhere(path);
  t.after(() => other.kill("SIGKILL"));
  await assert.rejects(serve({ identity: {} }), code("FAILED_PRECONDITION"));
  const visitor = connectSocket(path);
  await once(visitor, "connect");
  visitor.destroy();

  other.kill("SIGKILL");
  await once(other, "exit");
  assert.ok((await stat(path)).isSocket());
  const { identity } = await serve({ identity: {} });
  assert.equal((await identity.probe({})).ready, true);
});

test("what is no socket is refused, and stays as it is", async () => {
  const path = join(folder, "csi.sock");
  await writeFile(path, "precious");
  await assert.rejects(serve({ identity: {} }), code("FAILED_PRECONDITION"));
  assert.equal(await readFile(path, "utf8"), "precious");
});

test("a socket path that the kernel would truncate is refused", () => {
  assert.throws(() => createServer({}, { endpoint: `unix:///${"a".repeat(120)}` }), code("INVALID_ARGUMENT"));
});
