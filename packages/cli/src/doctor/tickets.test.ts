import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type VolumeAttachment, VolumeAttachments, Volumes } from "@mooring/engine";
import { LocalStore, ResourceRegistry } from "@mooring/store";
import { objectChecks, WATCHED_KINDS } from "./object-checks.ts";

test("doctor names a ticket that has waited for long, and not one that has just come or is satisfied", async () => {
  const path = await mkdtemp(join(tmpdir(), "mooring-doctor-"));
  const registry = new ResourceRegistry(WATCHED_KINDS.map((resource) => ({ resource, hasStatus: true })));
  const store = await LocalStore.open({ path, registry });
  try {
    const spec = { size: 1, pool: "p", volumeMode: "Block" as const, accessMode: "rwo" };
    const apiVersion = "storage.mooring.dev/v1alpha1";
    await store.create(Volumes, { apiVersion, kind: "Volume", metadata: { name: "v" }, spec });
    const made = await store.create(VolumeAttachments, {
      ...{ apiVersion, kind: "VolumeAttachment", metadata: { name: "v" } },
      spec: { volume: "v" },
    } satisfies VolumeAttachment);
    const told = (id: string, satisfied: boolean, lastTransitionTime: string) => {
      const status = satisfied ? ("True" as const) : ("False" as const);
      const condition = {
        type: "Satisfied",
        status,
        reason: "R",
        message: "held by ann",
        lastTransitionTime,
      };
      return { id, satisfied, conditions: [condition] };
    };
    const old = "2026-01-01T00:00:00Z";
    const statuses = [
      told("forgotten", false, old),
      told("new", false, "2026-01-01T00:58:00Z"),
      told("has", true, old),
    ];
    const attachmentTicketStatuses = Object.fromEntries(statuses.map((status) => [status.id, status]));
    await store.updateStatus(VolumeAttachments, { ...made, status: { attachmentTicketStatuses } });
    const checks = await objectChecks(store, new Date("2026-01-01T01:00:00Z"));
    const warned = checks.filter(({ state }) => state === "warn");
    assert.deepEqual(
      warned.map((entry) => entry.check),
      ["Ticket v/forgotten"],
    );
    assert.match(warned[0]?.detail ?? "", /since 2026-01-01T00:00:00Z: held by ann/);
    assert.equal(warned[0]?.next, "mooring why volume/v");
  } finally {
    await store.close();
    await rm(path, { recursive: true });
  }
});
