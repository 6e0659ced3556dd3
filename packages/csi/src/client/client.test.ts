import assert from "node:assert/strict";
import { test } from "node:test";
import { covers, eventually } from "@mooring/store/testing";
import { Code, CsiError, connect, createServer, probeUntilReady, type v1 } from "../index.ts";
import { fails, pair, socketFor } from "../testing/serve.ts";

test("a failed call is made again for the codes that may pass, and no others", async (t) => {
  const results = [CsiError.aborted("busy"), CsiError.unavailable("soon"), CsiError.notFound("gone")];
  let calls = 0;
  const { client } = await pair(
    t,
    {
      controller: {
        deleteVolume: () => {
          calls += 1;
          throw results.shift() ?? new Error("too many calls");
        },
      },
    },
    { client: { retry: { initialMs: 1 } } },
  );
  await assert.rejects(client.controller.deleteVolume({ volumeId: "v" }), fails("NOT_FOUND"));
  assert.equal(calls, 3);
});

test("retries end with the attempts, the deadline or the signal", async (t) => {
  let calls = 0;
  const services = {
    identity: {
      probe: () => {
        calls += 1;
        throw CsiError.unavailable("never");
      },
    },
  };
  const limited = await pair(t, services, { client: { retry: { initialMs: 1, attempts: 3 } } });
  await assert.rejects(limited.client.identity.probe({}), fails("UNAVAILABLE", /never/));
  assert.equal(calls, 3);
  const slow = await pair(t, services, { client: { retry: { initialMs: 20 } } });
  // The last try may be interrupted by the deadline, or end just before it.
  const ended = (error: unknown): boolean => fails("UNAVAILABLE")(error) || fails("DEADLINE_EXCEEDED")(error);
  await assert.rejects(slow.client.identity.probe({}, { timeoutMs: 100 }), ended);
  const abort = new AbortController();
  const endless = slow.client.identity.probe({}, { signal: abort.signal });
  setTimeout(() => abort.abort(), 50);
  await assert.rejects(endless, fails("CANCELLED"));
});

test("waiting for a plugin that starts late, and is not ready at first", async (t) => {
  covers("CSI-059", "CSI-061");
  const path = await socketFor(t);
  const endpoint = `unix://${path}`;
  const results = [CsiError.failedPrecondition("pool is missing"), { ready: false }, {}];
  const server = createServer(
    {
      identity: {
        probe: () => {
          const response = results.shift() ?? {};
          if (response instanceof CsiError) throw response;
          return response;
        },
      },
    },
    { endpoint },
  );
  const client = await connect(endpoint);
  t.after(async () => {
    client.close();
    await server.stop(0);
  });
  const ready = probeUntilReady(client, { intervalMs: 20, timeoutMs: 10_000 });
  await server.start();
  await ready;
  assert.equal(results.length, 0);
});

test("a plugin that never gets ready: the wait says what it returned last", async (t) => {
  const { client, endpoint } = await pair(t, { identity: { probe: () => ({ ready: false }) } });
  // One probe, with all the time that a probe has.
  const once = { timeoutMs: 60_000, intervalMs: 60_000 };
  await assert.rejects(probeUntilReady(client, once), fails("DEADLINE_EXCEEDED", /starting/));
  await assert.rejects(connect(endpoint, { readyTimeoutMs: 50 }), fails("DEADLINE_EXCEEDED"));
  await assert.rejects(
    connect(endpoint, { readyTimeoutMs: 5000, signal: AbortSignal.abort() }),
    fails("CANCELLED"),
  );
});

test("a client finds a plugin that was restarted", async (t) => {
  const path = await socketFor(t);
  const endpoint = `unix://${path}`;
  const start = async (name: string) => {
    const server = createServer(
      { identity: { getPluginInfo: () => ({ name, vendorVersion: "1" }) } },
      { endpoint },
    );
    await server.start();
    return server;
  };
  const first = await start("first");
  const client = await connect(endpoint, { retry: { initialMs: 20 }, timeoutMs: 10_000 });
  t.after(() => client.close());
  assert.equal((await client.identity.getPluginInfo({})).name, "first");
  await first.stop(0);
  const second = await start("second");
  t.after(() => second.stop(0));
  assert.equal((await client.identity.getPluginInfo({})).name, "second");
});

test("nobody there is UNAVAILABLE; a closed client too", async (t) => {
  const client = await connect(`unix://${await socketFor(t)}`);
  await assert.rejects(client.identity.probe({}), fails("UNAVAILABLE"));
  client.close();
});

test("a cancelled call is CANCELLED here and aborts there; a request that cannot be sent is INVALID_ARGUMENT", async (t) => {
  let reason: unknown;
  let arrived: (() => void) | undefined;
  const underWay = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const { client } = await pair(t, {
    identity: {
      probe: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          arrived?.();
          signal.addEventListener("abort", () => {
            reason = signal.reason;
            reject(signal.reason);
          });
        }),
    },
  });
  const abort = new AbortController();
  const call = client.identity.probe({}, { signal: abort.signal });
  await underWay;
  abort.abort();
  await assert.rejects(call, fails("CANCELLED"));
  await eventually("the plugin to be cancelled", () => reason !== undefined);
  assert.equal((reason as Error).name, "AbortError");
  const timeout = client.identity.probe({}, { signal: AbortSignal.timeout(30) });
  await assert.rejects(timeout, fails("DEADLINE_EXCEEDED"));
  const broken = client.controller.listVolumes({ maxEntries: 0.5 });
  await assert.rejects(broken, fails("INVALID_ARGUMENT", /max_entries/));
});

test("streams arrive whole, in order, and stop when the reader leaves", async (t) => {
  let ended = false;
  const seen: string[] = [];
  const { client } = await pair(
    t,
    {
      snapshotMetadata: {
        async *getMetadataAllocated({ maxResults }) {
          try {
            for (let part = 0n; maxResults === 0 || part < maxResults; part += 1n) {
              yield {
                volumeCapacityBytes: 1n << 40n,
                blockMetadata: [{ byteOffset: part, sizeBytes: 4096n }],
              };
            }
          } finally {
            ended = true;
          }
        },
        async *getMetadataDelta() {
          yield { volumeCapacityBytes: 1n };
          throw CsiError.notFound("the base is gone");
        },
      },
    },
    { observe: ({ method, code }) => seen.push(`${method} ${code}`) },
  );
  const offsets: bigint[] = [];
  for await (const { blockMetadata } of client.snapshotMetadata.getMetadataAllocated({
    snapshotId: "s",
    maxResults: 500,
  })) {
    offsets.push(...blockMetadata.map(({ byteOffset }) => byteOffset));
  }
  assert.deepEqual(
    offsets,
    Array.from({ length: 500 }, (_, index) => BigInt(index)),
  );

  ended = false;
  for await (const part of client.snapshotMetadata.getMetadataAllocated({ snapshotId: "s" })) {
    if (part.blockMetadata[0]?.byteOffset === 3n) break;
  }
  await eventually("the plugin to stop", () => ended);

  const delta = client.snapshotMetadata.getMetadataDelta({ baseSnapshotId: "a", targetSnapshotId: "b" });
  const parts: v1.GetMetadataDeltaResponse[] = [];
  await assert.rejects(
    async () => {
      for await (const part of delta) parts.push(part);
    },
    fails("NOT_FOUND", /base is gone/),
  );
  assert.equal(parts.length, 1);
  const invalid = client.snapshotMetadata.getMetadataAllocated({});
  await assert.rejects(
    async () => {
      for await (const part of invalid) assert.fail(String(part));
    },
    fails("INVALID_ARGUMENT", /snapshot_id/),
  );
  assert.ok(seen.includes("csi.v1.SnapshotMetadata/GetMetadataDelta NOT_FOUND"), seen.join());
});

test("a stream that fails is asked for again until its first message, and not after it", async (t) => {
  const results = [CsiError.unavailable("soon"), CsiError.aborted("busy")];
  let opened = 0;
  const { client } = await pair(
    t,
    {
      snapshotMetadata: {
        async *getMetadataAllocated() {
          opened += 1;
          const failure = results.shift();
          if (failure !== undefined) throw failure;
          yield { volumeCapacityBytes: 7n };
          throw CsiError.unavailable("interrupted");
        },
      },
    },
    { client: { retry: { initialMs: 1 } } },
  );
  const sizes: bigint[] = [];
  await assert.rejects(
    async () => {
      const stream = client.snapshotMetadata.getMetadataAllocated({ snapshotId: "s" });
      for await (const { volumeCapacityBytes } of stream) sizes.push(volumeCapacityBytes);
    },
    fails("UNAVAILABLE", /interrupted/),
  );
  assert.deepEqual([opened, sizes], [3, [7n]]);
});

test("metrics see every call by method and code, on both ends", async (t) => {
  const there: string[] = [];
  const here: string[] = [];
  const { client } = await pair(
    t,
    {
      identity: { getPluginInfo: () => ({ name: "a.b", vendorVersion: "1" }) },
      snapshotMetadata: {
        async *getMetadataAllocated() {
          for (let part = 0n; part < 2000n; part += 1n) {
            yield { blockMetadata: Array.from({ length: 100 }, () => ({ byteOffset: part, sizeBytes: 1n })) };
          }
        },
      },
    },
    {
      observe: ({ method, code }) => there.push(`${method} ${code}`),
      client: { observe: ({ method, code }) => here.push(`${method} ${code}`) },
    },
  );
  await client.identity.getPluginInfo({});
  await client.node.nodeGetInfo({}).catch(() => {});
  for await (const part of client.snapshotMetadata.getMetadataAllocated({ snapshotId: "s" })) assert.ok(part);
  for await (const part of client.snapshotMetadata.getMetadataAllocated({ snapshotId: "s" })) {
    assert.ok(part);
    break;
  }
  const { getMetadataAllocated } = client.snapshotMetadata;
  await assert.rejects(async () => {
    for await (const part of getMetadataAllocated({ snapshotId: "" })) assert.fail(String(part));
  });
  const allocated = "csi.v1.SnapshotMetadata/GetMetadataAllocated";
  const seen = [
    "csi.v1.Identity/GetPluginInfo OK",
    "csi.v1.Node/NodeGetInfo UNIMPLEMENTED",
    `${allocated} OK`,
    `${allocated} CANCELLED`,
    `${allocated} INVALID_ARGUMENT`,
  ];
  assert.deepEqual(here, seen);
  // The plugin learns a little later than the reader that the reader has left.
  await eventually("the plugin's count", () => there.length === seen.length);
  assert.deepEqual([...there].sort(), [...seen].sort());
});

test("every code arrives as itself, with a message and without details", async (t) => {
  covers("CSI-027", "CSI-033", "CSI-034");
  const codes = Object.entries(Code).filter(([name]) => name !== "OK");
  for (const [name, code] of codes) {
    const { client } = await pair(t, {
      identity: {
        probe: () => {
          throw new CsiError(code, "", { hint: "ü 100% \n" });
        },
      },
    });
    await assert.rejects(client.identity.probe({}), (error) => {
      assert.ok(error instanceof CsiError);
      assert.equal(error.codeName, name);
      assert.equal(error.hint, "ü 100% \n");
      assert.notEqual(error.message, "");
      const { metadata } = error.cause as { metadata: { get(key: string): unknown[] } };
      assert.deepEqual(metadata.get("grpc-status-details-bin"), []);
      return true;
    });
  }
});

test("a call without a response in time says the same each time: which call, and how long it waited", async (t) => {
  const never = new Promise<object>(() => {});
  const { client } = await pair(t, { identity: { probe: () => never } });
  const messages = new Set<string>();
  for (const _ of [1, 2, 3]) {
    const failed = await client.identity.probe({}, { timeoutMs: 100 }).catch((error: unknown) => error);
    assert.ok(failed instanceof CsiError);
    assert.equal(failed.code, Code.DEADLINE_EXCEEDED);
    messages.add(failed.message);
  }
  assert.deepEqual([...messages], ["the plugin did not respond to Probe within 100 ms"]);
});

test("an error message of any length and any characters arrives", async (t) => {
  for (const message of ["é".repeat(100_000), "\ud800 lone", "\0\r\n\u2028", "x".repeat(4097)]) {
    const { client } = await pair(t, {
      identity: {
        probe: () => {
          throw CsiError.notFound(message, { reason: "bad reason\n" });
        },
      },
    });
    await assert.rejects(client.identity.probe({}), fails("NOT_FOUND"));
  }
});
