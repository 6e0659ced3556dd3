import { join } from "node:path";
import type { MetricFamily } from "@mooring/csi";
import { StatusError } from "@mooring/store";
import { ServiceAccountTokens } from "../apiserver/auth/service-account.ts";
import { measureProcess } from "../apiserver/server/metrics.ts";
import { ApiThread, type ServingThread } from "../apiserver/thread/start.ts";
import { bundledCrds, installCrds, startCrdController } from "../crd/index.ts";
import type { Kubelet } from "../kubelet/index.ts";
import { serveLocalStreams } from "../node-streams/serve.ts";
import { startMetrics } from "./metrics.ts";
import { nodesOfState } from "./nodes-of-state.ts";
import type { Starting } from "./starting.ts";

type Streams = Pick<Kubelet, "exec" | "forward" | "logs">;
type VolumeMetrics = () => Promise<MetricFamily[]>;

interface StartedApi extends ServingThread {
  /** Signs tokens for service accounts. */
  tokens: ServiceAccountTokens;
  /** Reports who has the pods; until then their logs are "not available yet". */
  serveStreams(kubelet: Streams): void;
  /** Reports who measures the volumes of pods; until then they are in no scrape. */
  measureVolumes(metrics: VolumeMetrics): void;
}

interface LateKubelet {
  streams: Streams;
  kubelet?: Streams;
  metrics: VolumeMetrics;
}

/** Of a kubelet that starts later than the server. */
function lateStreams(): LateKubelet {
  const started = () => {
    if (late.kubelet === undefined)
      throw new StatusError("ServiceUnavailable", "the kubelet has not started yet: try again in a moment");
    return late.kubelet;
  };
  const late: LateKubelet = {
    metrics: async () => [],
    streams: {
      logs: (request) => started().logs(request),
      exec: async (request) => started().exec(request),
      forward: async (request) => started().forward(request),
    },
  };
  return late;
}

/** The API server with all kinds, in a thread of its own: built in, and those of our definitions. */
export async function startApi(starting: Starting): Promise<StartedApi> {
  const { options, folder, registry, kinds, changes, store, parts, logger, calls } = starting;
  const { host, port } = options.listen;
  const late = lateStreams();
  let families = (): MetricFamily[] => [];
  const { measure, stop: stopMeasuring } = measureProcess(async () => [
    ...calls.families(),
    ...families(),
    ...(await late.metrics()),
  ]);
  const thread = await parts.start("API server's thread", async (signal) => {
    signal.addEventListener("abort", stopMeasuring, { once: true });
    return new ApiThread({ store, changes, logger, measure, signal });
  });
  await parts.start("definitions", (signal) =>
    startCrdController({ store, registry, kinds, changes, logger, signal }),
  );
  await installCrds(store, await bundledCrds());
  await options.onRead?.(await nodesOfState(store, folder.root));
  families = await startMetrics({ store, parts, logger });
  await parts.start("streams into pods", (signal) =>
    serveLocalStreams({ socketPath: folder.streams, kubelet: late.streams, logger, signal }),
  );
  const server = await parts.start("API server", (signal) =>
    thread.serve(
      {
        listen: `${host.includes(":") ? `[${host}]` : host}:${port}`,
        ...{ stateDir: folder.root, nodeName: options.nodeName, kubelet: folder.streams },
        bounds: options.clients,
      },
      signal,
    ),
  );
  return {
    ...server,
    // The key is there by now: the server's thread has made it.
    tokens: await ServiceAccountTokens.open(store, join(folder.root, "pki", "service-accounts.key")),
    serveStreams: (kubelet) => {
      late.kubelet = kubelet;
    },
    measureVolumes: (metrics) => {
      late.metrics = metrics;
    },
  };
}
