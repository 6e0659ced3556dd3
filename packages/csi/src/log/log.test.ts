import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { covers } from "@mooring/store/testing";
import { CsiError, type Logger, redact, v0, v1 } from "../index.ts";
import { fails, mounted, pair } from "../testing/serve.ts";

/** Keeps every line as text, as a log would write it. */
function recorder(): { lines: string[]; logger: Logger } {
  const lines: string[] = [];
  const at = (bindings: object): Logger => {
    const write = (level: string) => (fields: object, message: string) => {
      lines.push(JSON.stringify({ level, message, ...bindings, ...fields }));
    };
    const [debug, info, warn, error] = [write("debug"), write("info"), write("warn"), write("error")];
    return { debug, info, warn, error, child: (more) => at({ ...bindings, ...more }) };
  };
  return { lines, logger: at({}) };
}

test("every call is one line with its method and id; secrets are in none, whatever happens", async (t) => {
  covers("CSI-333");
  const { lines, logger } = recorder();
  const { client } = await pair(
    t,
    {
      controller: {
        createVolume: ({ name }) => ({ volume: { volumeId: name } }),
        deleteVolume: () => {
          throw CsiError.failedPrecondition("in use");
        },
        createSnapshot: () => {
          throw new Error("disk on fire");
        },
      },
    },
    { logger },
  );
  const secrets = { token: "hunter2" };
  const accessType = { case: "mount" as const, value: { mountFlags: ["password=hunter2"] } };
  await client.controller.createVolume({
    name: "v",
    volumeCapabilities: [{ ...mounted, accessType }],
    secrets,
  });
  await assert.rejects(
    client.controller.deleteVolume({ volumeId: "v", secrets }),
    fails("FAILED_PRECONDITION"),
  );
  await assert.rejects(client.controller.deleteVolume({ secrets }), fails("INVALID_ARGUMENT"));
  const snapshot = { sourceVolumeId: "v", name: "s", secrets };
  await assert.rejects(client.controller.createSnapshot(snapshot), fails("INTERNAL"));
  const old = { volumeId: "v", controllerDeleteSecrets: secrets };
  await assert.rejects(client.v0.controller.deleteVolume(old), fails("FAILED_PRECONDITION"));

  const calls = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    calls.map(({ level, method, code }) => [level, String(method).split("/")[1], code]),
    [
      ["debug", "CreateVolume", undefined],
      ["info", "DeleteVolume", "FAILED_PRECONDITION"],
      ["info", "DeleteVolume", "INVALID_ARGUMENT"],
      ["error", "CreateSnapshot", "INTERNAL"],
      ["info", "DeleteVolume", "FAILED_PRECONDITION"],
    ],
  );
  assert.equal(new Set(calls.map(({ requestId }) => requestId)).size, calls.length);
  assert.doesNotMatch(lines.join(), /hunter2/);
});

test("secrets of csi.v0, which has no mark for them, are struck out too; int64 is text", () => {
  const message = create(v0.NodeStageVolumeRequestSchema, {
    volumeId: "v",
    nodeStageSecrets: { key: "hunter2" },
  });
  assert.deepEqual(redact(v0.NodeStageVolumeRequestSchema, message), {
    volume_id: "v",
    node_stage_secrets: { key: "***stripped***" },
  });
  const big = create(v1.CapacityRangeSchema, { requiredBytes: 2n ** 60n });
  assert.deepEqual(redact(v1.CapacityRangeSchema, big), { required_bytes: String(2n ** 60n) });
});
