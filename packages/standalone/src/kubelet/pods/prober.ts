import { delay, msLeft } from "@mooring/store";
import type { Container } from "./field-ref.ts";
import type { ProbeResults } from "./pod-view.ts";
import { type Probe, type ProbeTarget, runProbe } from "./probe.ts";

type ProbeKind = "startup" | "readiness" | "liveness";

/** Probes the running containers of this node, each attempt of each container from its start to its end. */
export interface Prober {
  /** Begins when the container has probes and they do not run yet. */
  ensure(id: string, container: Container, startedAt: number, target: ProbeTarget): void;
  results(id: string, container: Container): ProbeResults;
  /** It has begun with the container and has not ended. */
  isProbing(id: string): boolean;
  end(id: string): void;
  close(): void;
}

/** One attempt of a container, while it is probed. */
interface Probed {
  id: string;
  container: Container;
  startedAt: number;
  target: ProbeTarget;
  stop: AbortController;
  results: ProbeResults;
}

/**
 * `changed` is called with the container's id when a result turned; `failed` after each failure, `errored`: the probe itself could
 * not be made, and does not count.
 */
interface ProbeListener {
  changed(id: string): void;
  failed(id: string, kind: ProbeKind, outcome: "failed" | "errored", message: string): void;
}

/** See {@link ProbeListener}. */
export function createProber(changed: ProbeListener["changed"], failed: ProbeListener["failed"]): Prober {
  const running = new Map<string, Probed>();
  return {
    ensure(id, container, startedAt, target) {
      if (running.has(id) || !hasProbes(container)) return;
      const stop = new AbortController();
      const probed: Probed = { id, container, startedAt, target, stop, results: initial(container) };
      running.set(id, probed);
      probeAll(probed, { changed, failed }).catch(() => {});
    },
    results: (id, container) => running.get(id)?.results ?? initial(container),
    isProbing: (id) => running.has(id),
    end(id) {
      running.get(id)?.stop.abort();
      running.delete(id);
    },
    close() {
      for (const { stop } of running.values()) stop.abort();
      running.clear();
    },
  };
}

/** The other two kinds begin once the startup probe has succeeded. */
async function probeAll(probed: Probed, listener: ProbeListener): Promise<void> {
  const { startupProbe, readinessProbe, livenessProbe } = probed.container;
  const repeated = (kind: ProbeKind, probe: Probe | undefined) =>
    probe === undefined ? undefined : repeat(kind, probe, probed, listener);
  await repeated("startup", startupProbe);
  if (!probed.results.started) return;
  await Promise.all([repeated("readiness", readinessProbe), repeated("liveness", livenessProbe)]);
}

async function repeat(
  kind: ProbeKind,
  probe: Probe,
  { id, startedAt, target, stop: { signal }, results }: Probed,
  { changed, failed }: ProbeListener,
): Promise<void> {
  const { initialDelaySeconds = 0 } = probe;
  // 0 is the default as well; without that, a probe would follow the one before it at once.
  const failureThreshold = probe.failureThreshold || 3;
  const successThreshold = probe.successThreshold || 1;
  const periodSeconds = probe.periodSeconds || 10;
  let [failures, successes] = [0, 0];
  const forMs = initialDelaySeconds * 1000;
  await delay(msLeft({ since: startedAt, forMs, now: Date.now() }), signal);
  while (!signal.aborted) {
    const { outcome, message } = await attempt(probe, target);
    if (signal.aborted) return;
    if (outcome === "succeeded") [failures, successes] = [0, successes + 1];
    else failed(id, kind, outcome, message);
    if (outcome === "failed") [failures, successes] = [failures + 1, 0];
    const before = JSON.stringify(results);
    if (successes >= successThreshold) succeed(kind, results);
    if (failures >= failureThreshold) fail(kind, results, message);
    if (JSON.stringify(results) !== before) changed(id);
    if (kind === "startup" && (results.started || results.unhealthy !== undefined)) return;
    await delay(periodSeconds * 1000, signal);
  }
}

type Attempt = { outcome: "succeeded" | "failed" | "errored"; message: string };

async function attempt(probe: Probe, target: ProbeTarget): Promise<Attempt> {
  try {
    const problem = await runProbe(probe, target);
    return { outcome: problem === undefined ? "succeeded" : "failed", message: problem ?? "" };
  } catch (error) {
    return { outcome: "errored", message: error instanceof Error ? error.message : String(error) };
  }
}

/** True when the container has a probe of any kind. */
export function hasProbes({ startupProbe, readinessProbe, livenessProbe }: Container): boolean {
  return startupProbe !== undefined || readinessProbe !== undefined || livenessProbe !== undefined;
}

function initial({ startupProbe, readinessProbe }: Container): ProbeResults {
  return { started: startupProbe === undefined, ready: readinessProbe === undefined };
}

function succeed(kind: ProbeKind, results: ProbeResults): void {
  if (kind === "startup") results.started = true;
  if (kind === "readiness") results.ready = true;
}

function fail(kind: ProbeKind, results: ProbeResults, problem: string): void {
  if (kind === "readiness") results.ready = false;
  else results.unhealthy = `${kind} probe failed: ${problem}`;
}
