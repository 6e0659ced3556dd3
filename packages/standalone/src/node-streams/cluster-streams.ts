import {
  delay,
  firstOf,
  getIfAny,
  isStatus,
  type Node,
  Nodes,
  type ObjectStore,
  type Pod,
  Pods,
  StatusError,
} from "@mooring/store";
import { conditionOf, isReady } from "../controllers/lost-node.ts";
import { isStopped } from "../controllers/node-stopped.ts";
import type { Kubelet, LogRequest } from "../kubelet/index.ts";
import { type LocalAccess, readAccess } from "./access.ts";
import { fetchNodeLog } from "./fetch.ts";
import { type Relay, relay } from "./relay.ts";

type Streams = "exec" | "forward" | "logs";

/** What the API server needs of the kubelets of all nodes. */
export interface ClusterStreams extends Pick<Kubelet, Streams> {
  /** How connections are handed on to the pod's node; undefined: that is this one. Throws when it cannot be reached. */
  elsewhere(pod: Pod): Promise<Relay | undefined>;
}

/** From where the API server reaches the pods of every node. */
export interface ClusterLogsOptions {
  store: ObjectStore;
  /** The node of this process, and its kubelet. */
  nodeName: string;
  kubelet: Pick<Kubelet, Streams>;
  /** Where connections to that kubelet are handed on to; absent: it is in this thread, and nothing is. */
  local?: LocalAccess;
}

/** How often the API server looks whether a node is lost: a followed log ends at most so long after that. */
const CHECK_EVERY_MS = 2000;

/** The pods of every node: of this one by its kubelet, of the others by theirs. */
export function clusterStreams(options: ClusterLogsOptions): ClusterStreams {
  const { kubelet } = options;
  return {
    logs: (request) => readLog(options, request),
    exec: (request) => kubelet.exec(request),
    forward: (request) => kubelet.forward(request),
    elsewhere: (pod) => elsewhere(options, pod),
  };
}

async function elsewhere(
  { store, nodeName, local }: ClusterLogsOptions,
  { metadata, spec }: Pod,
): Promise<Relay | undefined> {
  const where = spec?.nodeName ?? "";
  if (where === nodeName)
    return local === undefined ? undefined : (connection, path, stop) => relay(connection, local, path, stop);
  const away = await whyAway(store, where);
  const access = away === undefined ? await readAccess(store, where) : undefined;
  const cannot = (why: string) =>
    new StatusError(
      "ServiceUnavailable",
      `pod "${metadata.name}" runs on node "${where}", which cannot be reached: ${why}`,
    );
  if (access === undefined) throw cannot(away ?? "it does not say how; is its Mooring of this version?");
  return async (connection, path, stop) => {
    const over = new AbortController();
    try {
      await firstOf([over.signal, stop], async (either) => {
        // A machine that is lost closes no connection.
        void watchNode(store, where, either).then(() => over.abort());
        await relay(connection, access, path, either).finally(() => over.abort());
      });
    } catch (error) {
      throw isStatus(error) ? error : cannot(error instanceof Error ? error.message : String(error));
    }
  };
}

async function* readLog(
  { store, nodeName, kubelet }: ClusterLogsOptions,
  request: LogRequest,
): AsyncGenerator<Uint8Array> {
  const pod = await store.get<Pod>(Pods, { namespace: request.namespace, name: request.pod });
  const where = pod.spec?.nodeName ?? "";
  if (where === nodeName) yield* kubelet.logs(request);
  else yield* readRemote(store, where, request);
}

async function* readRemote(
  store: ObjectStore,
  where: string,
  request: LogRequest,
): AsyncGenerator<Uint8Array> {
  const away = await whyAway(store, where);
  const access = away === undefined ? await readAccess(store, where) : undefined;
  if (access === undefined) throw unavailable(request, where, away ?? "it does not say how to ask for it");
  const over = new AbortController();
  const lost = new AbortController();
  const stop = AbortSignal.any([over.signal, lost.signal, request.signal ?? over.signal]);
  void watchNode(store, where, stop).then((reason) => {
    if (reason !== undefined) lost.abort(unavailable(request, where, reason));
  });
  try {
    yield* fetchNodeLog(access, request, stop);
  } catch (error) {
    if (lost.signal.aborted) throw lost.signal.reason;
    if (isStatus(error) || stop.aborted) throw error;
    throw unavailable(request, where, error instanceof Error ? error.message : String(error));
  } finally {
    over.abort();
  }
}

/** Resolves with the reason once the node is lost, stopped or deleted; with undefined when the signal aborts. */
async function watchNode(store: ObjectStore, name: string, signal: AbortSignal): Promise<string | undefined> {
  while (!signal.aborted) {
    await delay(CHECK_EVERY_MS, signal).catch(() => {});
    const reason = await whyAway(store, name).catch(() => undefined);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

async function whyAway(store: ObjectStore, name: string): Promise<string | undefined> {
  const node = await getIfAny<Node>(store, Nodes, { name });
  if (node === undefined) return "there is no such node";
  if (isReady(node)) return undefined;
  if (isStopped(node)) return "Mooring was stopped there";
  const since = conditionOf(node, "Ready")?.lastTransitionTime;
  return `the node has not been ready since ${since ?? "it joined"}`;
}

function unavailable({ pod }: LogRequest, where: string, reason: string): StatusError {
  const message = `the log of pod "${pod}" is kept on node "${where}", which cannot be asked: ${reason}. On that machine it is below kubelet/logs in the state folder`;
  return new StatusError("ServiceUnavailable", message);
}
