/** The sizes that a terminal may have. */
export interface TerminalSize {
  columns: number;
  rows: number;
}

/** What a client sends to its program. */
export interface Listener {
  stdin(bytes: Buffer): void;
  stdinEnd(): void;
  resize(size: TerminalSize): void;
}

/** How a program ended, as clients read it (metav1.Status). */
export interface Outcome {
  status: "Success" | "Failure";
  message?: string;
  [field: string]: unknown;
}

/** A client that runs a program, whatever carries its streams. */
export interface Client {
  /** Aborts when it has left, or was sent away. */
  readonly left: AbortSignal;
  /** Resolves when the bytes are with the kernel, so a slow client blocks the program that it reads from. */
  send(output: "stdout" | "stderr", bytes: Uint8Array): Promise<void>;
  /** The last that is sent. */
  sendOutcome(outcome: Outcome): Promise<void>;
  /** Nothing more is read of the client's input until `resume` is called. */
  pause(): void;
  resume(): void;
  /** Ends it, once it has what was sent to it. */
  close(): void;
}

/** Begins to listen to a client; undefined: it has left, or did not open its streams in time. */
export type Connect = (listener: Listener, stop: AbortSignal) => Promise<Client | undefined>;

/** The streams that a client has asked for. */
export interface WantedStreams {
  stdin: boolean;
  stdout: boolean;
  stderr: boolean;
  tty: boolean;
}

/** `{"Width": 80, "Height": 24}`; undefined for anything else. */
export function readSize(json: string): TerminalSize | undefined {
  try {
    const { Height: rows, Width: columns } = JSON.parse(json) as Record<string, unknown>;
    return isSize(columns) && isSize(rows) ? { columns, rows } : undefined;
  } catch {
    return undefined;
  }
}

const isSize = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) > 0 && Number(value) <= 65_535;
