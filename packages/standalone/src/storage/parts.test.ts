import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { LocalStore, ResourceRegistry, silentLogger } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { followSockets } from "../kubelet/driver-registration/sockets.ts";
import { startDriverHost } from "./driver-host.ts";
import { Parts, type Running } from "./parts.ts";
import { serveCsi } from "./serve-csi.ts";

async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-parts-"));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

/** Its term ends while the part is being started, which takes no notice: a controller that loses its lease does that. */
async function endsWhileItStarts(begin: (signal: AbortSignal) => Promise<Running>): Promise<void> {
  const term = new AbortController();
  const parts = new Parts(silentLogger, (error) => assert.ifError(error), term.signal);
  await parts.start("part", (signal) => {
    term.abort();
    return begin(signal);
  });
  let ended = false;
  void parts.stop().then(() => {
    ended = true;
  });
  await eventually("the part to have stopped", () => ended, { withinMs: 10_000 });
}

test("CSI services whose term ends while they are being started end with it", async (t) => {
  const endpoint = `unix://${await folderFor(t)}/csi.sock`;
  await endsWhileItStarts((signal) => serveCsi({}, { endpoint, logger: silentLogger }, signal));
});

test("so do the registration of drivers and their controllers", async (t) => {
  const folder = await folderFor(t);
  await endsWhileItStarts((signal) => followSockets(folder, () => {}, signal));
  const store = await LocalStore.open({ path: join(folder, "store"), registry: new ResourceRegistry() });
  t.after(() => store.close());
  const logger = silentLogger;
  await endsWhileItStarts(async (signal) => startDriverHost({ store, nodeName: "a", logger, signal }));
});
