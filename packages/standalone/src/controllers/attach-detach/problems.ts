import type { NodePlan } from "./plan.ts";

/** What keeps a volume from being attached to a node. */
export interface Problem {
  volume: string;
  message: string;
}

/** What keeps volumes from being attached, a sentence for each pod's volume. */
export function problemsOf({ blocked, failed }: Pick<NodePlan, "blocked" | "failed">): Problem[] {
  const elsewhere = blocked.map(({ wanted: { volume }, nodes }): Problem => {
    const where = nodes.map((node) => `"${node}"`).join(", ");
    const what = `Multi-Attach error for volume "${volume}"`;
    const advice = "it is detached there as soon as no pod on that node uses it";
    const message = `${what}: it is attached to node ${where} and may be attached to one node only; ${advice}`;
    return { volume, message };
  });
  const refused = failed.map(({ wanted: { volume }, message }): Problem => {
    return { volume, message: `AttachVolume.Attach failed for volume "${volume}" : ${message}` };
  });
  return [...elsewhere, ...refused];
}

/** Which problems were reported to the pods of a node, and when: a node is read after every change on it. */
export class ReportedProblems {
  readonly #reported = new Map<string, { message: string; at: number }>();
  readonly #repeatMs: number;
  readonly #now: () => number;

  constructor(repeatMs: number, now: () => number = () => performance.now()) {
    this.#repeatMs = repeatMs;
    this.#now = now;
  }

  has(nodeName: string, { volume, message }: Problem): boolean {
    const last = this.#reported.get(`${nodeName}/${volume}`);
    return last?.message === message && this.#now() - last.at < this.#repeatMs;
  }

  /** Milliseconds until the first of these is to be reported again. */
  repeatInMs(nodeName: string, problems: readonly Problem[]): number {
    const reported = problems.map(({ volume }) => this.#reported.get(`${nodeName}/${volume}`)?.at);
    const first = Math.min(...reported.map((at) => at ?? Number.NEGATIVE_INFINITY));
    return Math.max(0, first + this.#repeatMs - this.#now());
  }

  note(nodeName: string, { volume, message }: Problem): void {
    const now = this.#now();
    for (const [key, { at }] of this.#reported) if (now - at >= this.#repeatMs) this.#reported.delete(key);
    this.#reported.set(`${nodeName}/${volume}`, { message, at: now });
  }
}
