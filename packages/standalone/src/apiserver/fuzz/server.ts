// The API server that is fuzzed, in a process of its own. It receives how large bodies are read (the text of that thread), then
// sends where it is and what it serves; asked "report", it sends how long its event loop has stood still, and for whom.
import { subscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { bundledCrds, installCrds } from "../../crd/index.ts";
import { type KindInfo, verbsOf } from "../../kinds/kind-info.ts";
import { startTestServer, type TestServer } from "../testing/test-server.ts";
import { threadMs } from "../testing/thread-cost.ts";
import { PILES } from "./examples.ts";
import type { Collection } from "./requests.ts";
import type { Command, ServerMessage } from "./talk.ts";

/** How often the program checks that the loop turns. */
const BEAT_MS = 5;
/** Of processor time in one turn: from here on it is a stall. */
const STALL_MS = 50;

const send = (receive: ServerMessage) => process.send?.(receive);

function collectionsOf({ kinds }: TestServer): Collection[] {
  return kinds.all().flatMap((kind) => {
    const { group, kind: name, plural, namespaced } = kind.resource;
    if (verbsOf(kind).length === 0) return [];
    const inside = namespaced ? "namespaces/default/" : "";
    return kind.versions.map((version) => ({
      path: `${group === "" ? "/api" : `/apis/${group}`}/${version}/${inside}${plural}`,
      apiVersion: group === "" ? version : `${group}/${version}`,
      kind: name,
      fields: fieldsOf(kind, version),
    }));
  });
}

function fieldsOf(kind: KindInfo, version: string): string[] {
  const found = new Set(["spec", "status", "data"]);
  const walk = (schema: unknown, depth: number): void => {
    if (typeof schema !== "object" || schema === null || depth > 6 || found.size > 300) return;
    const { properties, items } = schema as { properties?: Record<string, unknown>; items?: unknown };
    for (const [name, child] of Object.entries(properties ?? {})) {
      found.add(name);
      walk(child, depth + 1);
    }
    walk(items, depth + 1);
  };
  walk(kind.schema(version), 0);
  return [...found];
}

async function serve(): Promise<void> {
  const server = await startTestServer({ thread: false });
  await installCrds(server.store, await bundledCrds());
  await server.http.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", PILES);
  const inFlight = new Map<IncomingMessage, string>();
  subscribe("http.server.request.start", (message) => {
    const { request } = message as { request: IncomingMessage };
    inFlight.set(request, String(request.headers["x-number"] ?? ""));
  });
  subscribe("http.server.response.finish", (message) => {
    const { request } = message as { request: IncomingMessage };
    // Past the next beat: the turn that has ended it is the one that may have stood still.
    setTimeout(() => inFlight.delete(request), 3 * BEAT_MS).unref();
  });
  const delay = monitorEventLoopDelay({ resolution: BEAT_MS });
  let worst = 0;
  let last = threadMs();
  const stalls: { ms: number; requests: string[] }[] = [];
  const beat = setInterval(() => {
    const now = threadMs();
    const spent = now - last;
    worst = Math.max(worst, spent);
    if (spent > STALL_MS && stalls.length < 100) stalls.push({ ms: spent, requests: [...inFlight.values()] });
    last = threadMs();
  }, BEAT_MS);
  process.on("message", (command: Command) => {
    if (command.do === "begin") {
      delay.enable();
      worst = 0;
      stalls.length = 0;
      last = threadMs();
    } else if (command.do === "report") {
      send({ is: "report", worst, wall: delay.max / 1e6, stalls, memory: process.memoryUsage().rss });
    } else if (command.do === "stop") {
      clearInterval(beat);
      void server.stop().then(() => process.exit(0));
    }
  });
  const { url, caPem, token } = server.api;
  const until = Date.now() + 60_000;
  while (!collectionsOf(server).some(({ kind }) => kind === "Pile") && Date.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 20));
  send({ is: "up", url, caPem, token, collections: collectionsOf(server) });
}

process.on("disconnect", () => process.exit(1));
process.once("message", (command: Command) => {
  // Not as `process.env.NAME = ...`: in a program that is one file, that name stands for the text itself.
  if (command.do === "start" && command.parseThread !== undefined)
    Object.assign(process.env, { MOORING_PARSE_THREAD: command.parseThread });
  void serve();
});
