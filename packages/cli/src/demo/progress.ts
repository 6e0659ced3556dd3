/** One finished step: what was done and how long it took. */
interface StepResult {
  step: string;
  milliseconds: number;
  detail: string;
}

/** One claim about the outcome, checked. */
interface Proof {
  proof: string;
  ok: boolean;
  detail: string;
}

/** Collects steps and proofs, and prints them for the operator as they come. */
export class Progress {
  readonly steps: StepResult[] = [];
  readonly proofs: Proof[] = [];
  readonly #write: (line: string) => void;
  readonly #signal: AbortSignal;

  /** `signal`: the operator wants the demo to end; what fails from then on says nothing about it. */
  constructor(write: (line: string) => void, signal: AbortSignal) {
    this.#write = write;
    this.#signal = signal;
  }

  /** Runs one step; its result is shown as the detail. A failure ends the demo and names the step. */
  async step<T>(name: string, work: () => Promise<{ detail: string; value: T }>): Promise<T> {
    this.#signal.throwIfAborted();
    const start = performance.now();
    try {
      const { detail, value } = await work();
      const milliseconds = performance.now() - start;
      this.steps.push({ step: name, milliseconds, detail });
      this.#write(`  ${seconds(milliseconds)}  ${name.padEnd(44)} ${detail}`);
      return value;
    } catch (error) {
      this.#signal.throwIfAborted();
      this.prove(name, false, error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  prove(proof: string, ok: boolean, detail: string): void {
    this.#signal.throwIfAborted();
    this.proofs.push({ proof, ok, detail });
    this.#write(`  ${ok ? "  proved" : "  FAILED"}  ${proof.padEnd(44)} ${detail}`);
  }

  get passed(): boolean {
    return this.proofs.length > 0 && this.proofs.every((entry) => entry.ok);
  }
}

/** `  1.234 s`, right aligned. */
export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(3)} s`.padStart(8);
}
