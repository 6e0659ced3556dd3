import type { MetricFamily } from "@mooring/csi";
import type { KubeletStreams } from "../apiserver/index.ts";
import { type ApiServer, startApiServer } from "../apiserver/start.ts";
import { bundledCrds, installCrds, startCrdController } from "../crd/index.ts";
import { startMetrics } from "./metrics.ts";
import type { Starting } from "./starting.ts";

interface StartedApi extends ApiServer {
  /** Reports who has the pods; until then their logs are "not available yet". */
  serveStreams(kubelet: KubeletStreams): void;
  /** Reports who measures the volumes of pods; until then they are in no scrape. */
  measureVolumes(metrics: VolumeMetrics): void;
}

type VolumeMetrics = () => Promise<MetricFamily[]>;
type LateKubelet = KubeletStreams & { kubelet?: KubeletStreams; metrics: VolumeMetrics };

/** Of a kubelet that starts later than the server. */
function lateStreams(): LateKubelet {
  const started = () => {
    if (late.kubelet === undefined) throw new Error("the kubelet has not started yet");
    return late.kubelet;
  };
  const late: LateKubelet = {
    metrics: async () => [],
    logs: (request) => started().logs(request),
    exec: async (request) => started().exec(request),
    forward: async (request) => started().forward(request),
    elsewhere: async (pod) => started().elsewhere(pod),
  };
  return late;
}

/** The API server with all kinds: built in, and those of our definitions. */
export async function startApi({
  options,
  folder,
  registry,
  kinds,
  store,
  parts,
  logger,
  calls,
}: Starting): Promise<StartedApi> {
  const { host, port } = options.listen;
  const late = lateStreams();
  await parts.start("definitions", (signal) =>
    startCrdController({ store, registry, kinds, logger, signal }),
  );
  await installCrds(store, await bundledCrds());
  const families = await startMetrics({ store, parts, logger });
  const server = await parts.start("API server", (signal) =>
    startApiServer({
      store,
      kinds,
      listen: `${host.includes(":") ? `[${host}]` : host}:${port}`,
      stateDir: folder.root,
      logger,
      signal,
      kubelet: late,
      metrics: async () => [...calls.families(), ...families(), ...(await late.metrics())],
    }),
  );
  return {
    ...server,
    serveStreams: (kubelet) => {
      late.kubelet = kubelet;
    },
    measureVolumes: (metrics) => {
      late.metrics = metrics;
    },
  };
}
