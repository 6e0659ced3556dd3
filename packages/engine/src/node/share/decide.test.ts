import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShareManager, ShareManagerStatus } from "../../api/share-manager.ts";
import { volumeObject } from "../../testing/agent.ts";
import { decide, type ShareView } from "./decide.ts";

const ENDPOINT = "nfs://192.0.2.7:20491/v-p-1";
const SIZE = 1024;

/** A volume that node `a` serves for `users`, all of it as it should be but for `more`. */
function view(users: string[], status: ShareManagerStatus | undefined, more: Partial<ShareView>): ShareView {
  const share = { spec: { nodeID: "a", users }, ...(status && { status }) } as ShareManager;
  const volume = volumeObject("v-p-1");
  volume.spec = { ...volume.spec, nodeID: "a" };
  volume.status = { state: "attached", robustness: "healthy", currentNodeID: "a", device: "/dev/loop7" };
  const others = users.filter((user) => user !== "a");
  const server = { recorded: { address: "192.0.2.7", port: 20_491 }, address: "192.0.2.7", silences: 0 };
  return {
    ...{ nodeID: "a", share, volume, device: { path: "/dev/loop7", sizeBytes: SIZE }, mounted: "/dev/loop7" },
    ...{ servers: 0, ...server, clients: ["192.0.2.8"], admitted: "192.0.2.8", connected: false },
    ...{ users: others, untrusted: [] },
    ...{ folder: true, endpoint: ENDPOINT, healthMs: 1_000, ...more },
  };
}

const running = (endpoint?: string): ShareManagerStatus => ({
  ...{ state: "running", nodeID: "a", size: SIZE },
  ...(endpoint === undefined ? {} : { endpoint, users: ["b"] }),
});

test("a node that has the volume for itself starts no server, and reports that it has it", () => {
  assert.deepEqual(decide(view(["a"], { state: "stopped", nodeID: "a", size: SIZE }, {})), {
    ...{ do: "record", status: { state: "running", nodeID: "a", size: SIZE } },
  });
  assert.equal(decide(view(["a"], running(), {})).do, "done");
});

test("a server starts for the first of the others, and ends with the last", () => {
  assert.equal(decide(view(["a", "b"], running(), {})).do, "start");
  assert.equal(decide(view(["a", "b"], running(ENDPOINT), { servers: 1 })).do, "wait");
  assert.equal(decide(view(["a"], running(ENDPOINT), { servers: 1 })).do, "end");
});

const outsider = { nodeID: "c", address: "198.51.100.9", message: "..." };

test("for a node whose network is not trusted no server starts; it is reported, and read again", () => {
  const refused = { untrusted: [{ ...outsider, refused: true }], users: [] };
  const alone = view(["a", "c"], running(), refused);
  assert.deepEqual(decide(alone), {
    ...{ do: "record", status: { ...running(), untrusted: refused.untrusted } },
  });
  const recorded = { ...running(), untrusted: refused.untrusted };
  assert.deepEqual(decide(view(["a", "c"], recorded, refused)), { do: "wait", afterMs: 1_000 });
  const left = decide(view(["a"], recorded, {}));
  assert.deepEqual(left, { do: "record", status: running() });
});

test("a server that runs reports whom it lets in, and whom it must not", () => {
  const both = { servers: 1, users: ["b"], untrusted: [{ ...outsider, refused: true }] };
  const step = decide(view(["a", "b", "c"], running(ENDPOINT), both));
  assert.deepEqual(step, {
    ...{ do: "record", status: { ...running(ENDPOINT), untrusted: both.untrusted } },
  });
});

test("what an earlier version has mounted here over the network keeps its server", () => {
  assert.equal(
    decide(view(["a"], { ...running(ENDPOINT), users: [] }, { servers: 1, connected: true })).do,
    "wait",
  );
});

test("a server that has died is reported, with the address that its clients have, and starts again", () => {
  const step = decide(view(["b"], running(ENDPOINT), {}));
  assert.deepEqual(step, { do: "record", status: { state: "stopped", nodeID: "a", endpoint: ENDPOINT } });
  const stopped: ShareManagerStatus = { state: "stopped", nodeID: "a", endpoint: ENDPOINT };
  assert.equal(decide(view(["b"], stopped, {})).do, "start");
});

test("of clients that have left, no address is kept for those who come next", () => {
  const stopped: ShareManagerStatus = { state: "stopped", nodeID: "a", endpoint: ENDPOINT };
  assert.deepEqual(decide(view([], stopped, { mounted: undefined, device: undefined })), {
    ...{ do: "record", status: { state: "stopped", nodeID: "a" } },
  });
});
