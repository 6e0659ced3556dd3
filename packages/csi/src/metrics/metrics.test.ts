import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, credentials } from "@grpc/grpc-js";
import { eventually } from "@mooring/store/testing";
import { CsiError, callMetrics, metricsText, processMetrics, serveMetrics } from "../index.ts";
import { pair } from "../testing/serve.ts";

/** Sends bytes as they are, as no typed client would. */
function sendRaw(socket: string, path: string, bytes: Buffer): Promise<number> {
  const client = new Client(`unix:${socket}`, credentials.createInsecure());
  const pass = (each: Buffer): Buffer => each;
  return new Promise((resolve) => {
    client.makeUnaryRequest(path, pass, pass, bytes, (error) => {
      client.close();
      resolve(error?.code ?? 0);
    });
  });
}

/** The counts of a histogram by method and code. */
function counts(text: string, side: string): string[] {
  const line = new RegExp(
    `^csi_${side}_operations_seconds_count\\{driver_name="a.b",method_name="([^"]+)",grpc_status_code="([^"]+)"\\} (\\d+)$`,
  );
  return text.split("\n").flatMap((each) => {
    const [, method, code, count] = line.exec(each) ?? [];
    return method === undefined ? [] : [`${method} ${code} ${count}`];
  });
}

test("every call is counted under the method that was called and the code that was returned, whatever refused it", async (t) => {
  const there = callMetrics({ driverName: "a.b" });
  const here = callMetrics({ driverName: "a.b", side: "sidecar" });
  const { client, path } = await pair(
    t,
    {
      identity: { getPluginInfo: () => ({ name: "a.b", vendorVersion: "1" }) },
      controller: {
        createVolume: () => ({}),
        deleteVolume: () => {
          throw CsiError.failedPrecondition("in use");
        },
        getCapacity: () => ({ availableCapacity: 1n << 70n }), // no int64
      },
    },
    { observe: there.observe, client: { observe: here.observe } },
  );
  const quietly = (call: Promise<unknown>): Promise<void> =>
    call.then(
      () => {},
      () => {},
    );
  await client.identity.getPluginInfo({});
  await client.identity.getPluginInfo({});
  await quietly(client.controller.deleteVolume({ volumeId: "v" }));
  await quietly(client.controller.deleteVolume({}));
  await quietly(client.controller.createVolume({ name: "n" }));
  await quietly(client.controller.getCapacity({}));
  await quietly(client.controller.createSnapshot({}));
  await quietly(client.node.nodeGetInfo({}));
  await quietly(client.v0.identity.getPluginInfo({}));
  await quietly(client.v0.controller.deleteVolume({}));
  await quietly(client.v0.node.nodeGetId({}));
  const calls = [
    "/csi.v1.Identity/GetPluginInfo OK 2",
    "/csi.v1.Controller/DeleteVolume FailedPrecondition 1",
    "/csi.v1.Controller/DeleteVolume InvalidArgument 1",
    "/csi.v1.Controller/CreateVolume InvalidArgument 1",
    "/csi.v1.Controller/GetCapacity Internal 1",
    "/csi.v1.Controller/CreateSnapshot Unimplemented 1",
    "/csi.v1.Node/NodeGetInfo Unimplemented 1",
    "/csi.v0.Identity/GetPluginInfo OK 1",
    "/csi.v0.Controller/DeleteVolume InvalidArgument 1",
    "/csi.v0.Node/NodeGetId Unimplemented 1",
  ];
  assert.deepEqual(counts(metricsText(here.families()), "sidecar"), calls);
  // Bytes that are no message: the handlers' side sees them, too.
  assert.equal(await sendRaw(path, "/csi.v1.Controller/DeleteVolume", Buffer.from([0xff])), 3);
  assert.equal(await sendRaw(path, "/csi.v1.Controller/CreateSnapshot", Buffer.from([0xff])), 12);
  assert.equal(await sendRaw(path, "/csi.v0.Node/NodeGetId", Buffer.from([0xff])), 12);
  const again = [
    "/csi.v1.Controller/DeleteVolume InvalidArgument",
    "/csi.v1.Controller/CreateSnapshot Unimplemented",
    "/csi.v0.Node/NodeGetId Unimplemented",
  ];
  assert.deepEqual(
    counts(metricsText(there.families()), "plugin"),
    calls.map((call) => (again.includes(call.slice(0, -2)) ? call.replace(/1$/, "2") : call)),
  );
});

test("a scrape gets the histogram, with every bucket counting the smaller ones, and what the process uses", async (t) => {
  const calls = callMetrics({ driverName: 'a"b' });
  const method = "csi.v1.Node/NodeStageVolume";
  for (const milliseconds of [1, 100, 101, 40_000, 900_000])
    calls.observe({ method, code: "OK", milliseconds });
  calls.observe({ method, code: "CANCELLED", milliseconds: 1 });
  const process = processMetrics();
  t.after(() => process.stop());
  const server = await serveMetrics({ host: "127.0.0.1", port: 0 }, () => [
    ...calls.families(),
    ...process.families(),
  ]);
  t.after(() => server.close());
  const url = `http://127.0.0.1:${server.port}`;
  const response = await fetch(`${url}/metrics`);
  assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
  const text = await response.text();
  const buckets = [...text.matchAll(/_bucket\{[^}]*grpc_status_code="OK",le="([^"]+)"\} (\d+)/g)];
  assert.deepEqual(
    buckets.map(([, le, count]) => `${le}:${count}`),
    [
      "0.1:2",
      "0.25:3",
      "0.5:3",
      "1:3",
      "2.5:3",
      "5:3",
      "10:3",
      "15:3",
      "25:3",
      "50:4",
      "120:4",
      "300:4",
      "600:4",
    ].concat("+Inf:5"),
  );
  const labels = `{driver_name="a\\"b",method_name="/${method}",grpc_status_code="OK"}`;
  assert.ok(text.includes(`csi_plugin_operations_seconds_sum${labels} 940.202\n`), text);
  assert.ok(text.includes(`csi_plugin_operations_seconds_count${labels} 5\n`), text);
  assert.match(text, /grpc_status_code="Canceled"/);
  assert.match(text, /^# TYPE csi_plugin_operations_seconds histogram$/m);
  const memory = /^process_resident_memory_bytes (\d+)$/m.exec(text);
  assert.ok(Number(memory?.[1]) > 1 << 20, text);
  assert.equal((await fetch(url)).status, 404);
  assert.equal((await fetch(`${url}/metrics`, { method: "POST" })).status, 405);
});

test("an observer that throws breaks no call", async (t) => {
  const observe = (): never => {
    throw new Error("no");
  };
  const { client } = await pair(t, { identity: {} }, { observe, client: { observe } });
  assert.equal((await client.identity.probe({})).ready, true);
});

test("for how long the process could not respond is what a scrape gets, and nothing while it could", async (t) => {
  const { families, stop } = processMetrics();
  t.after(stop);
  const lag = () =>
    families().find(({ name }) => name === "nodejs_eventloop_lag_max_seconds")?.samples[0]?.value ?? -1;
  assert.equal(lag(), 0);
  // It may not be watched yet when the first one is over.
  const seen = await eventually("the process to be seen standing still", () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);
    return new Promise<number | undefined>((resolve) =>
      setImmediate(() => setImmediate(() => resolve(lag() || undefined))),
    );
  });
  assert.ok(seen >= 1.8 && seen < 60, `${seen}`);
});
