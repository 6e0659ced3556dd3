import assert from "node:assert/strict";
import { test } from "node:test";
import { type AttachmentTicket, MOORING_API_VERSION, type Volume } from "@mooring/engine";
import { covers } from "@mooring/store/testing";
import { requireFreeToMigrate } from "./migration.ts";

const on = (...nodes: string[]): AttachmentTicket[] =>
  nodes.map((nodeID) => ({ id: `csi-${nodeID}`, type: "csi-attacher", nodeID }));

function volume(status: NonNullable<Volume["status"]>, migratable = true): Volume {
  const spec = { size: 4096, pool: "p", volumeMode: "Block" as const, accessMode: "rwx", migratable };
  return { apiVersion: MOORING_API_VERSION, kind: "Volume", metadata: { name: "v" }, spec, status };
}

const attached = volume({ state: "attached", currentNodeID: "a" });

test("a third node is refused while a volume migrates between two, with their names and the way out", () => {
  covers("LHA-078");
  assert.throws(() => requireFreeToMigrate(attached, on("a", "b"), "c"), {
    codeName: "FAILED_PRECONDITION",
    message: 'volume "v" is migrating between nodes "a" and "b"',
    hint: "Unpublish it from one of them first.",
  });
  // The two themselves may repeat their calls.
  requireFreeToMigrate(attached, on("a", "b"), "b");
});

test("a second node is given the volume when the first one has it open, and not before", () => {
  covers("LHA-078");
  requireFreeToMigrate(attached, on("a"), "b");
  for (const status of [{ state: "attaching" as const }, { state: "detached" as const }]) {
    assert.throws(() => requireFreeToMigrate(volume(status), on("a"), "b"), {
      codeName: "FAILED_PRECONDITION",
      message: /published to node "a", which does not have it open now/,
    });
  }
  requireFreeToMigrate(volume({ state: "detached" }), [], "b");
});

test("a volume that nobody asked to be migratable is none of its business", () => {
  requireFreeToMigrate(volume({ state: "detached" }, false), on("a", "b"), "c");
});
