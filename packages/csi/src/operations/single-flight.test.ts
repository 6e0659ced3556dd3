import assert from "node:assert/strict";
import { test } from "node:test";
import { covers } from "@mooring/store/testing";
import { CsiError, type Services } from "../index.ts";
import { fails, gate, mounted, pair } from "../testing/serve.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));
const range = { requiredBytes: 1n };

test("ten equal calls at once are one operation, whatever order their maps are in", async (t) => {
  covers("CSI-020");
  let calls = 0;
  const released = gate();
  const { client } = await pair(t, {
    controller: {
      createVolume: async ({ name }) => {
        calls += 1;
        await released.promise;
        return { volume: { volumeId: name } };
      },
      deleteVolume: () => ({}),
    },
  });
  const parameters = Array.from({ length: 10 }, (_, index) => [`p${index}`, "x"] as const);
  const all = parameters.map((_, index) =>
    client.controller.createVolume({
      name: "v",
      volumeCapabilities: [mounted],
      parameters: Object.fromEntries([...parameters.slice(index), ...parameters.slice(0, index)]),
    }),
  );
  await client.controller.deleteVolume({ volumeId: "other" }); // calls before it on this connection have arrived
  released.open();
  const responses = await Promise.all(all);
  assert.equal(calls, 1);
  assert.ok(responses.every(({ volume }) => volume?.volumeId === "v"));
});

test("ABORTED reports what runs, since when, and how it failed before", async (t) => {
  covers("CSI-136");
  const released = gate();
  let first = true;
  const { client } = await pair(t, {
    controller: {
      deleteVolume: async () => {
        if (first) {
          first = false;
          throw CsiError.internal("the disk is on fire");
        }
        await released.promise;
        return {};
      },
      controllerExpandVolume: () => ({}),
    },
  });
  const request = { volumeId: "v" };
  await assert.rejects(client.controller.deleteVolume(request), fails("INTERNAL"));
  const second = client.controller.deleteVolume(request);
  await assert.rejects(
    client.controller.controllerExpandVolume({ ...request, capacityRange: range }),
    fails(
      "ABORTED",
      /^DeleteVolume v is under way for \d+\.\d s; before, it failed with: the disk is on fire/,
    ),
  );
  released.open();
  await second;
});

test("a source may be read by many, and not be deleted while it is", async (t) => {
  const released = gate();
  let running = 0;
  const services: Services = {
    controller: {
      createVolume: async ({ name }) => {
        running += 1;
        await released.promise;
        return { volume: { volumeId: name } };
      },
      createSnapshot: ({ name }) => ({ snapshot: { snapshotId: name } }),
      deleteVolume: () => ({}),
    },
  };
  const { client } = await pair(t, services);
  const volumeContentSource = { type: { case: "volume" as const, value: { volumeId: "source" } } };
  const clones = ["a", "b"].map((name) =>
    client.controller.createVolume({ name, volumeCapabilities: [mounted], volumeContentSource }),
  );
  await client.controller.createSnapshot({ sourceVolumeId: "source", name: "s" });
  assert.equal(running, 2);
  await assert.rejects(
    client.controller.deleteVolume({ volumeId: "source" }),
    fails("ABORTED", /CreateVolume/),
  );
  released.open();
  await Promise.all(clones);
  await client.controller.deleteVolume({ volumeId: "source" });
});

test("a retry joins the operation of a caller that gave up, and gets its response", async (t) => {
  const released = gate();
  const begun = gate();
  let calls = 0;
  const { client } = await pair(t, {
    node: {
      nodeStageVolume: async () => {
        calls += 1;
        begun.open();
        await released.promise; // a mkfs that nothing can stop
        return {};
      },
      nodeUnstageVolume: () => ({}),
    },
  });
  const request = { volumeId: "v", stagingTargetPath: "/s", volumeCapability: mounted };
  const leave = new AbortController();
  const left = client.node.nodeStageVolume(request, { signal: leave.signal });
  await begun.promise;
  leave.abort();
  await assert.rejects(left, fails("CANCELLED"));
  const retry = client.node.nodeStageVolume(request);
  const unstage = client.node.nodeUnstageVolume({ volumeId: "v", stagingTargetPath: "/s" });
  await assert.rejects(unstage, fails("ABORTED"));
  released.open();
  await retry;
  assert.equal(calls, 1);
});

test("a retry that joins an operation which then stops starts it again", async (t) => {
  let calls = 0;
  const begun = gate();
  const stopping = gate();
  const ended = gate();
  const { client } = await pair(t, {
    node: {
      nodeStageVolume: async (_, { signal }) => {
        calls += 1;
        if (calls > 1) return {};
        const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
        begun.open();
        await aborted;
        stopping.open();
        await ended.promise;
        throw signal.reason;
      },
      nodeUnstageVolume: () => ({}),
    },
  });
  const request = { volumeId: "v", stagingTargetPath: "/s", volumeCapability: mounted };
  const leave = new AbortController();
  const left = client.node.nodeStageVolume(request, { signal: leave.signal });
  await begun.promise;
  leave.abort();
  await assert.rejects(left, fails("CANCELLED"));
  await stopping.promise;
  const retry = client.node.nodeStageVolume(request);
  await assert.rejects(
    client.node.nodeUnstageVolume({ volumeId: "v", stagingTargetPath: "/s" }),
    fails("ABORTED"),
  );
  ended.open();
  await retry;
  assert.equal(calls, 2);
});

test("the operation's deadline is that of the caller who waits longest", async (t) => {
  const seen = gate<() => Date | undefined>();
  const released = gate();
  const { client } = await pair(t, {
    controller: {
      deleteVolume: async (_, context) => {
        seen.open(() => context.deadline);
        await released.promise;
        return {};
      },
    },
  });
  const short = client.controller.deleteVolume({ volumeId: "v" }, { timeoutMs: 20_000 });
  const deadline = await seen.promise;
  const first = deadline()?.getTime() ?? 0;
  const long = client.controller.deleteVolume({ volumeId: "v" }, { timeoutMs: 60_000 });
  while ((deadline()?.getTime() ?? 0) < first + 30_000) await turn();
  released.open();
  await Promise.all([short, long]);
});
