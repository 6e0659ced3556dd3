import assert from "node:assert/strict";
import { test } from "node:test";
import { mutate, type ObjectStore } from "@mooring/store";
import { howMany } from "@mooring/store/testing";
import { type Volume, Volumes } from "../../api/volume.ts";
import { addTicket, removeTickets, ticketStatus } from "../../tickets/tickets.ts";
import { createVolume, withStore } from "./testing/run-arbiter.ts";

const COUNT = howMany({ everyday: 60, full: 200 });

/** Every node's agent: the wish comes true. Resolves with the nodes that each volume was wanted on, in order. */
async function play(store: ObjectStore, signal: AbortSignal): Promise<Map<string, string[]>> {
  const wishes = new Map<string, string[]>();
  const follow = async ({ metadata, spec, status }: Volume) => {
    const nodeID = spec.nodeID ?? "";
    const latest = wishes.get(metadata.name) ?? [""];
    if (latest.at(-1) !== nodeID) wishes.set(metadata.name, [...latest, nodeID]);
    if ((status?.currentNodeID ?? "") === nodeID) return;
    const next = {
      state: nodeID === "" ? ("detached" as const) : ("attached" as const),
      currentNodeID: nodeID,
    };
    const key = { name: metadata.name };
    await mutate(store, Volumes, key, {
      change: (v) => ({ ...v, status: next }),
      subresource: "status",
      signal,
    });
  };
  try {
    for await (const { type, object } of store.watch(Volumes, { signal })) {
      if (type === "ADDED" || type === "MODIFIED") void follow(object).catch(() => {});
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return wishes;
}

test("12498: many volumes attached at once each go where their ticket wants them, once", () =>
  withStore(async ({ store, until, start }) => {
    const names = Array.from({ length: COUNT }, (_, index) => `v-${index}`);
    for (const name of names) await createVolume(store, name);
    const stop = new AbortController();
    const playing = play(store, stop.signal);
    await start();
    const node = (name: string) => (name.length % 2 === 0 ? "a" : "b");
    const ask = (name: string) => ({ id: "w", type: "csi-attacher" as const, nodeID: node(name) });
    await Promise.all(names.map((name) => addTicket(store, name, ask(name), { now: new Date() })));
    for (const name of names) {
      await until.attachment((a) => a !== undefined && ticketStatus(a, "w")?.satisfied === true, name);
    }
    await Promise.all(names.map((name) => removeTickets(store, name, () => true)));
    for (const name of names) {
      await until.volume((v) => v.spec.nodeID === "" && v.status?.state === "detached", name);
    }
    stop.abort();
    const wishes = await playing;
    for (const name of names) assert.deepEqual(wishes.get(name), ["", node(name), ""]);
  }));
