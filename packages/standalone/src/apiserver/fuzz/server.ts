// The API server that is fuzzed, in a thread of its own of a process of its own, as `mooring up` has it. It receives the programs
// of its threads, then sends where it is and what it serves; asked "report", it sends how long the event loops of the server and of
// the store have stood still, and for whom.
import { BroadcastChannel } from "node:worker_threads";
import { bundledCrds, installCrds } from "../../crd/index.ts";
import { type KindInfo, verbsOf } from "../../kinds/kind-info.ts";
import { startTestServer, type TestServer } from "../testing/test-server.ts";
import { TurnMeter, type Turns } from "../testing/turn-meter.ts";
import { PILES } from "./examples.ts";
import type { Collection } from "./requests.ts";
import { CHANNEL, type Command, type ServerMessage, type ToMeter } from "./talk.ts";

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

async function serve(thread: string): Promise<void> {
  const server = await startTestServer({ thread });
  await installCrds(server.store, await bundledCrds());
  await server.http.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", PILES);
  const meter = new TurnMeter();
  const channel = new BroadcastChannel(CHANNEL);
  channel.unref();
  const ask = (request: ToMeter) => channel.postMessage(request);
  channel.onmessage = (message) => {
    const { data } = message as { data: Turns };
    send({ is: "report", server: data, store: meter.report(), memory: process.memoryUsage().rss });
  };
  process.on("message", (command: Command) => {
    if (command.do === "begin") {
      meter.begin();
      ask("begin");
    } else if (command.do === "report") {
      ask("report");
    } else if (command.do === "stop") {
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
  if (command.do !== "start") return;
  // Not as `process.env.NAME = ...`: in a program that is one file, that name stands for the text itself.
  if (command.parseThread !== undefined)
    Object.assign(process.env, { MOORING_PARSE_THREAD: command.parseThread });
  void serve(command.thread);
});
