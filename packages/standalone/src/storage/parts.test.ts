import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ENGINE_KINDS } from "@mooring/engine";
import { LocalStore, type ObjectStore, ResourceRegistry, silentLogger } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { registerBuiltins } from "../builtin/index.ts";
import { createKindRegistry } from "../kinds/kind-info.ts";
import { followSockets } from "../kubelet/driver-registration/sockets.ts";
import { startDriverHost } from "./driver-host.ts";
import { startEngine } from "./engine.ts";
import { Parts, type Running } from "./parts.ts";
import { serveCsi } from "./serve-csi.ts";

const logger = silentLogger;

async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-parts-"));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

async function storeFor(t: TestContext): Promise<ObjectStore> {
  const registry = new ResourceRegistry();
  registerBuiltins(registry, createKindRegistry());
  for (const resource of ENGINE_KINDS) registry.register({ resource, hasStatus: true });
  const store = await LocalStore.open({ path: join(await folderFor(t), "store"), registry });
  t.after(() => store.close());
  return store;
}

async function stops(parts: Parts, what: string): Promise<void> {
  let ended = false;
  void parts.stop().then(() => {
    ended = true;
  });
  await eventually(`${what} to have stopped`, () => ended, { withinMs: 10_000 });
}

/** Its term ends while the part is being started, which takes no notice: a controller that loses its lease does that. */
async function endsWhileItStarts(begin: (signal: AbortSignal) => Promise<Running>): Promise<void> {
  const term = new AbortController();
  const parts = new Parts(logger, (error) => assert.ifError(error), term.signal);
  await parts.start("part", (signal) => {
    term.abort();
    return begin(signal);
  });
  await stops(parts, "the part");
}

test("CSI services whose term ends while they are being started end with it", async (t) => {
  const endpoint = `unix://${await folderFor(t)}/csi.sock`;
  await endsWhileItStarts((signal) => serveCsi({}, { endpoint, logger }, signal));
});

test("so do the registration of drivers and their controllers", async (t) => {
  const folder = await folderFor(t);
  await endsWhileItStarts((signal) => followSockets(folder, () => {}, signal));
  const store = await storeFor(t);
  await endsWhileItStarts(async (signal) => startDriverHost({ store, nodeName: "a", logger, signal }));
});

test("at whichever of its requests a term ends, nothing that decides for all nodes goes on", async (t) => {
  const store = await storeFor(t);
  let last = 0;
  let requests: number;
  do {
    last += 1;
    requests = 0;
    const term = new AbortController();
    const counted = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          requests += 1;
          if (requests === last) term.abort();
          return Reflect.apply(value, target, args);
        };
      },
    });
    const parts = new Parts(logger, (error) => assert.ifError(error), term.signal);
    await startEngine({ store: counted, parts, logger, leases: {}, nodeGraceMs: 40_000 }).catch(
      (error: unknown) => {
        if (!term.signal.aborted) throw error;
      },
    );
    await stops(parts, `the engine that was ended at request ${last}`);
  } while (requests >= last);
  assert.ok(last > 10, `${last} requests`);
});
