import { EXIT } from "./exit-codes.ts";

/** A failure that an operator can act on: what failed, and the next step. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly next: string | undefined;
  readonly exitCode: number;

  constructor(message: string, options: { next?: string; exitCode?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.next = options.next;
    this.exitCode = options.exitCode ?? EXIT.usage;
  }
}
