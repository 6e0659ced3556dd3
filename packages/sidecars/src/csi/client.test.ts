import assert from "node:assert/strict";
import { test } from "node:test";
import { type CsiClient, CsiError, connect } from "@mooring/csi";
import { covers } from "@mooring/store/testing";
import { ScriptedDriver } from "../testing/scripted-driver.ts";
import { describeDriver } from "./driver.ts";
import { listVolumes } from "./list-volumes.ts";
import { oneAtATime } from "./one-at-a-time.ts";

const options = { signal: new AbortController().signal, timeoutMs: 5_000 };

test("what a driver reports about itself becomes plain values", async (t) => {
  covers("CSI-051");
  const driver = await ScriptedDriver.start({
    can: ["CREATE_DELETE_VOLUME", "EXPAND_VOLUME"],
    topology: true,
    expansion: "offline",
  });
  const client = await connect(driver.endpoint);
  t.after(async () => {
    client.close();
    await driver.stop();
  });
  assert.deepEqual(await describeDriver(client, options), {
    name: "test.csi.example.com",
    version: "1.0",
    controller: true,
    controllerElsewhere: false,
    topology: true,
    expansion: "offline",
    groupSnapshots: false,
    volumeGroups: new Set(),
    can: new Set(["CREATE_DELETE_VOLUME", "EXPAND_VOLUME"]),
    nodeExpansion: false,
  });
});

/** A client whose controller runs in this process. */
const clientOf = (controller: object) => ({ controller }) as unknown as CsiClient;

test("a list whose token has expired begins again", async () => {
  covers("CSI-189", "CSI-192");
  const tokens: string[] = [];
  let expired = true;
  const client = clientOf({
    listVolumes: async ({ startingToken }: { startingToken: string }) => {
      tokens.push(startingToken);
      if (startingToken === "") return { entries: ["a"], nextToken: "2" };
      if (expired) {
        expired = false;
        throw CsiError.aborted("the token has expired");
      }
      return { entries: ["b"], nextToken: "" };
    },
  });
  assert.deepEqual(await listVolumes(client, options), ["a", "b"]);
  assert.deepEqual(tokens, ["", "2", "", "2"]);
});

test("calls for one volume wait for each other, whatever becomes of them; others do not", async () => {
  covers("CSI-019");
  const running = new Set<string>();
  const order: string[] = [];
  const ends = new Map<string, (fail: boolean) => void>();
  const make =
    (name: string) =>
    ({ volumeId }: { volumeId: string }) => {
      assert.ok(!running.has(volumeId), `two calls for ${volumeId}`);
      running.add(volumeId);
      order.push(`${name} ${volumeId}`);
      return new Promise((resolve, reject) => {
        ends.set(volumeId, (fail) => {
          running.delete(volumeId);
          if (fail) reject(new Error("x"));
          else resolve({});
        });
      });
    };
  const client = oneAtATime(
    clientOf({
      deleteVolume: make("delete"),
      controllerPublishVolume: make("publish"),
      controllerExpandVolume: make("expand"),
    }),
  );
  const first = client.controller.controllerPublishVolume({ volumeId: "a" });
  const second = client.controller.controllerExpandVolume({ volumeId: "a" });
  const other = client.controller.deleteVolume({ volumeId: "b" });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(order, ["publish a", "delete b"]);
  ends.get("a")?.(true);
  await assert.rejects(first);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(order.at(-1), "expand a");
  for (const end of ends.values()) end(false);
  await Promise.all([second, other]);
});
