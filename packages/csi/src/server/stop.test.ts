import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { connect as connectSocket } from "node:net";
import { test } from "node:test";
import { covers, eventually, howMany } from "@mooring/store/testing";
import { createServer } from "../index.ts";
import { fails, gate, pair, socketFor } from "../testing/serve.ts";

/** Of the fewer ones, too, those are seen of which one in fifty leaves its file descriptor. */
const CONNECTIONS = howMany({ everyday: 400, full: 4_000 });

test("stopping lets calls under way end, and takes no new ones", async (t) => {
  const arrived = gate();
  const released = gate();
  const { server, client, path } = await pair(t, {
    identity: {
      probe: async () => {
        arrived.open();
        await released.promise;
        return { ready: true };
      },
    },
  });
  const call = client.identity.probe({});
  await arrived.promise;
  const stopped = server.stop();
  await eventually("the socket to go", () => !existsSync(path));
  released.open();
  assert.equal((await call).ready, true);
  await stopped;
  await assert.rejects(client.identity.probe({}), fails("UNAVAILABLE"));
});

test("stopping ends after the grace time, whatever a handler does", async (t) => {
  const arrived = gate();
  const { server, client } = await pair(t, {
    identity: {
      probe: () => {
        arrived.open();
        return new Promise(() => {});
      },
    },
  });
  const call = assert.rejects(client.identity.probe({}));
  await arrived.promise;
  await server.stop(50);
  await call;
});

test("starting again after stopping is another server's business; stopping twice is fine", async (t) => {
  const path = await socketFor(t);
  const make = () => createServer({}, { endpoint: `unix://${path}` });
  const first = make();
  await first.start();
  await first.stop();
  await first.stop();
  const second = make();
  await second.start();
  await assert.rejects(make().start(), fails("FAILED_PRECONDITION", /another process listens/));
  await second.stop();
  await make().stop();
});

test(`${CONNECTIONS} connections that come and go leave no file descriptor`, async (t) => {
  const { path } = await pair(t, {});
  const descriptors = async () => (await readdir("/proc/self/fd")).length;
  const visit = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connectSocket(path);
      socket.once("data", () => socket.destroy()); // HTTP/2 begins with the server's settings
      socket.once("close", () => resolve());
      socket.once("error", reject);
    });
  const before = await descriptors();
  for (let round = 0; round < CONNECTIONS / 20; round += 1)
    await Promise.all(Array.from({ length: 20 }, visit));
  while ((await descriptors()) > before + 5) await new Promise((resolve) => setTimeout(resolve, 10));
});

test("nothing is made beside the socket", async (t) => {
  covers("CSI-321");
  const { path } = await pair(t, {});
  assert.deepEqual(await readdir(path.replace(/\/[^/]*$/, "")), ["csi.sock"]);
});
