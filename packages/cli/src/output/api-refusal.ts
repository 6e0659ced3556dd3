import type { StatusError, StatusReason } from "@mooring/store";
import { EXIT } from "./exit-codes.ts";

/** A failure as it is reported: what it was, what an operator does about it, what the process ends with. */
export interface ErrorReport {
  message: string;
  next?: string;
  exitCode: number;
}

/** A kind that the server does not serve: nothing is reported of an object then. */
export function isKindMissing({ reason, details }: StatusError): boolean {
  return reason === "NotFound" && details.name === undefined;
}

/** What lists the objects of a kind, by its plural. */
const LISTS: Readonly<Record<string, string>> = {
  volumegroupsnapshots: "mooring group list -A",
  volumes: "mooring volume list",
};

function notFound(error: StatusError): ErrorReport {
  const { group = "", kind = "" } = error.details;
  if (isKindMissing(error))
    return {
      message: `the API server does not have Mooring's kinds: ${error.message}`,
      next: "use the kubeconfig of a running `mooring up` (--kubeconfig FILE); a cluster gets them by the chart, or by kubectl apply --server-side -f deploy/crds",
      exitCode: EXIT.usage,
    };
  const list = LISTS[kind] ?? `kubectl get ${group === "" ? kind : `${kind}.${group}`} -A`;
  return {
    message: error.message,
    next: `check its name and its namespace (-n); those that are there: ${list}`,
    exitCode: EXIT.negative,
  };
}

type Describe = (error: StatusError) => ErrorReport;
const plainly =
  (exitCode: number, next: string): Describe =>
  ({ message }) => ({ message, next, exitCode });

const LATER = plainly(EXIT.unreachable, "try again; when it lasts, read the log of the API server");
const WRONG = plainly(EXIT.usage, "correct what it names, and try again");
const CHANGED = plainly(
  EXIT.negative,
  "another client has changed it meanwhile: read what is there now, then try again",
);

/** How a store reports that its file is not as it was written, and the way out. */
const DAMAGED = /^(?:Internal error occurred: )?(.* has been damaged on disk: .*); (stop Mooring, .*)$/s;

/** A read that has found damage finds it again, however often it is tried. */
function internal(error: StatusError): ErrorReport {
  const [, message, next] = DAMAGED.exec(error.message) ?? [];
  if (message === undefined || next === undefined) return LATER(error);
  return { message, next, exitCode: EXIT.unreachable };
}

const BY_REASON: Partial<Record<StatusReason, Describe>> = {
  NotFound: notFound,
  Unauthorized: ({ message }) => ({
    message: `the API server does not accept the credentials of the kubeconfig (${message})`,
    next: "take a fresh kubeconfig from the server's administrator, or name another with --kubeconfig",
    exitCode: EXIT.unreachable,
  }),
  Forbidden: plainly(
    EXIT.unreachable,
    "use the kubeconfig of a user who may do that, or ask the server's administrator (kubectl auth can-i --list)",
  ),
  Invalid: WRONG,
  BadRequest: WRONG,
  AlreadyExists: plainly(EXIT.negative, "choose another name, or delete the one that is there"),
  Conflict: CHANGED,
  ServiceUnavailable: LATER,
  TooManyRequests: LATER,
  Timeout: LATER,
  ServerTimeout: LATER,
  InternalError: internal,
  InsufficientStorage: plainly(EXIT.unreachable, "make room on that disk, and try again"),
};

/** What an API server returned instead of what was asked for. */
export function describeRefusal(error: StatusError): ErrorReport {
  const describe = BY_REASON[error.reason] ?? plainly(EXIT.negative, "see the API server's log");
  return describe(error);
}
