import { dirname } from "node:path";
import { CsiError } from "@mooring/csi";
import { NodeInUse } from "@mooring/engine";
import {
  AccessError,
  defined,
  isOutOfInodes,
  StatusError,
  StoreOpenError,
  type StoreOpenReason,
} from "@mooring/store";
import { describeRefusal, type ErrorReport } from "./api-refusal.ts";
import { CommandError } from "./command-error.ts";
import { EXIT } from "./exit-codes.ts";
import { withSourcePositions } from "./source-positions.ts";

/** Node's codes for "no server responds there". */
const UNREACHABLE = new Set(["ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EHOSTUNREACH", "ETIMEDOUT"]);

/** What an operator does about a state folder that cannot be opened. */
const OPEN_NEXT: Readonly<Record<StoreOpenReason, (error: StoreOpenError) => string>> = {
  Locked: ({ pid }) =>
    `stop that process${pid === undefined ? "" : ` (kill ${pid})`}, or use another --state-dir`,
  FutureFormat: () => "use the version of Mooring that wrote it, or a newer one",
  Damaged: restore,
  Missing: restore,
  Older: ({ file = "" }) => fromOlder(dirname(dirname(file))),
};

/** Nothing is done to what is not known to be wanted: both ways keep the store that is there. */
export function fromOlder(stateDir: string): string {
  const restore = `mooring state restore --state-dir ${stateDir}`;
  return `put back the newest store: the file that was there, or the newest copy with \`${restore}\`. To go on from this one, which knows nothing of what was made since: \`${restore} ${stateDir}/store/store.mdb\``;
}

/** The copies are beside the folder of the store. */
function restore({ file = "" }: StoreOpenError): string {
  const stateDir = dirname(dirname(file));
  return `put back the newest copy with \`mooring state restore --state-dir ${stateDir}\`; \`mooring state check\` lists what is damaged; volumes' data is not touched`;
}

/** What Node.js has of a refusal of the system: the path of a file, the address of a socket. */
interface SystemError extends Error {
  code?: string;
  path?: string;
  address?: string;
}

/** What an operator does about a refusal of the system, by its code. The messages name the path or the address. */
const SYSTEM: Readonly<Record<string, { next: string; exitCode: number }>> = {
  EADDRINUSE: { next: "stop the process that listens there, or use another address", exitCode: EXIT.busy },
  EADDRNOTAVAIL: { next: "use an address that this machine has", exitCode: EXIT.usage },
  EACCES: { next: "run it as a user who may do that (sudo), or use another path", exitCode: EXIT.usage },
  ENOTDIR: { next: "name a folder, or a path at which one can be made", exitCode: EXIT.usage },
  EROFS: { next: "use a path on a file system that can be written to", exitCode: EXIT.usage },
  ENOSPC: { next: "make room on that file system, or use a path on another one", exitCode: EXIT.usage },
  EDQUOT: { next: "make room in that quota, or use a path on another file system", exitCode: EXIT.usage },
};

/** "No space left" also of a file system that has any amount of it, and no place for a further file. */
function ofSystem({ message, code = "", path, address }: SystemError): ErrorReport | undefined {
  const report = SYSTEM[code];
  if (report === undefined) return undefined;
  if (code !== "ENOSPC" || !isOutOfInodes(path ?? address ?? "")) return { message, ...report };
  const next = "remove files from that file system (df -i), or use a path on another one";
  return { ...report, message: `${message} (its file system has no inodes left)`, next };
}

function cannotOpen(error: StoreOpenError): ErrorReport {
  const { message, reason } = error;
  const exitCode = reason === "Locked" ? EXIT.busy : EXIT.usage;
  return { message, next: OPEN_NEXT[reason](error), exitCode };
}

function unreachable(message: string): ErrorReport {
  return {
    message: `the API server does not respond (${message})`,
    next: "start it with `mooring up`, or name another kubeconfig with --kubeconfig",
    exitCode: EXIT.unreachable,
  };
}

/** Node's codes for a server that is there and cannot be believed, or does not believe us. */
const UNSAFE = /^(CERT_|ERR_TLS_|ERR_SSL_|EPROTO$)|SELF_SIGNED|^UNABLE_TO_|_CERT_|^HOSTNAME_MISMATCH$/;
/** Those for certificates and keys that are none. */
const BROKEN_PEM = /^ERR_OSSL_|^ERR_CRYPTO_/;

/** A request without a response. */
function withoutResponse({ cause, message }: StatusError): ErrorReport {
  const { code } = cause as { code?: unknown };
  const reason = typeof code === "string" ? code : "";
  if (BROKEN_PEM.test(reason))
    return {
      message: `the certificates of the kubeconfig cannot be used (${message})`,
      next: "take a fresh copy of the kubeconfig from where it was made, or name another with --kubeconfig",
      exitCode: EXIT.usage,
    };
  if (!UNSAFE.test(reason)) return unreachable(message);
  return {
    message: `the connection to the API server is not safe, so nothing was asked (${message.trim()})`,
    next: "the kubeconfig does not fit this server: take the one that the server has written, and check its address and certificate-authority",
    exitCode: EXIT.unreachable,
  };
}

const REPORT =
  "this is a defect of Mooring: report it with these lines, `mooring --version` and the command that you gave";

/** What is reported of a failure, and what an operator does about it. */
export function describeError(error: unknown): ErrorReport {
  if (error instanceof CommandError) {
    return {
      message: error.message,
      exitCode: error.exitCode,
      ...defined({ next: error.next }),
    };
  }
  if (error instanceof StoreOpenError) return cannotOpen(error);
  if (error instanceof AccessError) {
    return { message: error.message, next: "name a kubeconfig that can be read", exitCode: EXIT.usage };
  }
  if (error instanceof NodeInUse) {
    return { message: error.message, exitCode: EXIT.busy, ...(error.hint && { next: error.hint }) };
  }
  if (error instanceof CsiError) {
    const { hint: next = "do what it says, and start again; `mooring doctor` checks this machine" } = error;
    const busy = error.reason === "CSI_SOCKET_IN_USE";
    return { message: error.message, next, exitCode: busy ? EXIT.busy : EXIT.usage };
  }
  // One that has a cause is no response: no server responded.
  if (error instanceof StatusError)
    return error.cause === undefined ? describeRefusal(error) : withoutResponse(error);
  if (!(error instanceof Error)) return { message: String(error), next: REPORT, exitCode: EXIT.internal };
  const { code, hint } = error as SystemError & { hint?: unknown };
  if (typeof code === "string" && UNREACHABLE.has(code)) return unreachable(error.message);
  const refusal = ofSystem(error);
  const own = typeof hint === "string" ? { next: hint } : {};
  if (refusal !== undefined) return { ...refusal, ...own };
  if (typeof hint === "string") return { message: error.message, next: hint, exitCode: EXIT.usage };
  const message = withSourcePositions(error.stack ?? error.message);
  return { message, next: REPORT, exitCode: EXIT.internal };
}

/** Writes `error: ...` and `next: ...` to stderr; returns the exit code. */
export function reportError(error: unknown): number {
  const report = describeError(error);
  process.stderr.write(`error: ${report.message}\n`);
  if (report.next !== undefined) process.stderr.write(`next: ${report.next}\n`);
  return report.exitCode;
}
