import { EngineError } from "../errors.ts";

/** An operator's request to have a volume on a node. */
export interface AttachRequest {
  volume: string;
  /** Node id. */
  hostId: string;
  /** Ticket id; default `longhorn-ui`. */
  attachmentID?: string;
  /** Who asks: a name that others will read. */
  attachedBy: string;
  /** Open it for maintenance only: no workload gets the device. */
  disableFrontend?: boolean;
  /** When the ticket ends by itself; absent: never. */
  expiresAt?: Date;
  /** Wait behind the tickets that have the volume elsewhere, instead of being refused. */
  queue?: boolean;
}

/** An operator's request to end a ticket. */
export interface DetachRequest {
  volume: string;
  /** Ticket id; default `longhorn-ui`. */
  attachmentID?: string;
  /** Who asks. The ticket has to be this operator's, unless the detach is forced. */
  attachedBy: string;
  /** End tickets of others as well, operators' and controllers'. */
  forceDetach?: boolean;
  /** What a forced detach ends: those who use the device (default), or the jobs too. */
  scope?: "workload" | "all";
}

const ID = /^[a-zA-Z0-9](?:[-._a-zA-Z0-9]{0,251}[a-zA-Z0-9])?$/;
const MAX_NAME = 256;

/** Ticket and node ids: they become keys and names, so nothing else gets through. Throws INVALID_ARGUMENT. */
export function checkId(value: string, what: string): string {
  if (ID.test(value)) return value;
  const shown = JSON.stringify(value.slice(0, 80));
  throw new EngineError("INVALID_ARGUMENT", `${what} ${shown} is not valid`, {
    hint: "Use up to 253 letters, digits, '-', '_' or '.', with a letter or digit at both ends.",
  });
}

/** The caller in tickets of the CSI driver. */
const RESERVED_CALLER = "csi";

/** An operator's name: any text that fits a line. Throws INVALID_ARGUMENT. */
export function checkCaller(name: string): string {
  const text = name.trim();
  if (text === RESERVED_CALLER) {
    throw new EngineError(
      "INVALID_ARGUMENT",
      `attachedBy ${RESERVED_CALLER} names the CSI driver, not an operator`,
      {
        hint: "Use the name of who wants the volume.",
      },
    );
  }
  if (text !== "" && text.length <= MAX_NAME && !/\p{Cc}/u.test(text)) return text;
  throw new EngineError("INVALID_ARGUMENT", "attachedBy has to name an operator in one line", {
    hint: `Use 1 to ${MAX_NAME} characters without control characters.`,
  });
}

/** Throws INVALID_ARGUMENT for a time that is over. */
export function checkExpiry(expiresAt: Date | undefined, now: Date): Date | undefined {
  if (expiresAt === undefined || expiresAt.getTime() > now.getTime()) return expiresAt;
  throw new EngineError("INVALID_ARGUMENT", `expiresAt ${expiresAt.toISOString()} is over already`, {
    hint: "Name a time in the future, or none for a ticket without end.",
  });
}
