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

/** `changed` is called with the container's id when a result turned; `failed` after each failure. */
export function createProber(
  changed: (id: string) => void,
  failed: (id: string, kind: ProbeKind, message: string) => void,
): Prober {
  const running = new Map<string, { stop: AbortController; results: ProbeResults }>();

  async function repeat(
    id: string,
    { kind, probe, from }: { kind: ProbeKind; probe: Probe; from: number },
    target: ProbeTarget,
    entry: { stop: AbortController; results: ProbeResults },
  ): Promise<void> {
    const { signal } = entry.stop;
    const { failureThreshold = 3, successThreshold = 1, periodSeconds = 10, initialDelaySeconds = 0 } = probe;
    let [failures, successes] = [0, 0];
    const forMs = initialDelaySeconds * 1000;
    await delay(msLeft({ since: from, forMs, now: Date.now() }), signal);
    while (!signal.aborted) {
      const problem = await runProbe(probe, target);
      if (signal.aborted) return;
      [failures, successes] = problem === undefined ? [0, successes + 1] : [failures + 1, 0];
      if (problem !== undefined) failed(id, kind, problem);
      const before = JSON.stringify(entry.results);
      if (successes >= successThreshold) succeed(kind, entry.results);
      if (failures >= failureThreshold) fail(kind, entry.results, problem ?? "");
      if (JSON.stringify(entry.results) !== before) changed(id);
      if (kind === "startup" && (entry.results.started || entry.results.unhealthy !== undefined)) return;
      await delay(periodSeconds * 1000, signal);
    }
  }

  async function probeAll(
    id: string,
    { container, startedAt }: { container: Container; startedAt: number },
    target: ProbeTarget,
    entry: { stop: AbortController; results: ProbeResults },
  ): Promise<void> {
    const { startupProbe, readinessProbe, livenessProbe } = container;
    if (startupProbe !== undefined)
      await repeat(id, { kind: "startup", probe: startupProbe, from: startedAt }, target, entry);
    if (!entry.results.started) return;
    await Promise.all([
      readinessProbe === undefined
        ? undefined
        : repeat(id, { kind: "readiness", probe: readinessProbe, from: startedAt }, target, entry),
      livenessProbe === undefined
        ? undefined
        : repeat(id, { kind: "liveness", probe: livenessProbe, from: startedAt }, target, entry),
    ]);
  }

  return {
    ensure(id, container, startedAt, target) {
      if (running.has(id) || !hasProbes(container)) return;
      const entry = { stop: new AbortController(), results: initial(container) };
      running.set(id, entry);
      probeAll(id, { container, startedAt }, target, entry).catch(() => {});
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
