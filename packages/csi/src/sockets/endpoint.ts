import { resolve } from "node:path";
import { CsiError } from "../errors/csi-error.ts";

/** The kernel's limit for a socket's path, without the closing zero byte. Node cuts longer ones silently. */
const MAX_PATH_BYTES = 107;

/** `CSI_ENDPOINT` of the environment, as the specification asks supervisors to set it. */
export function endpointFromEnvironment(env: Record<string, string | undefined> = process.env): string {
  const endpoint = env["CSI_ENDPOINT"];
  if (endpoint === undefined || endpoint === "") {
    throw CsiError.invalidArgument("CSI_ENDPOINT is not set", {
      reason: "CSI_ENDPOINT_INVALID",
      hint: "set it to a socket path, for example CSI_ENDPOINT=unix:///run/csi/csi.sock",
    });
  }
  return endpoint;
}

/**
 * The absolute socket path of an endpoint: `unix:///absolute`, `unix:/absolute`, `unix:relative`,
 * `unix://relative` or a bare path. Throws INVALID_ARGUMENT with reason `CSI_ENDPOINT_INVALID` for all else.
 */
export function socketPath(endpoint: string): string {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(endpoint)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== "unix") throw invalid(endpoint, `${scheme}: is not a unix socket`);
  const rest = scheme === undefined ? endpoint : endpoint.slice("unix:".length).replace(/^\/\//, "");
  if (rest === "" || rest.endsWith("/")) throw invalid(endpoint, "it names no socket file");
  if (rest.includes("\0") || rest.startsWith("@"))
    throw invalid(endpoint, "abstract sockets are not supported");
  const path = resolve(rest);
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH_BYTES) {
    throw invalid(endpoint, `the path has ${bytes} bytes, a unix socket may have at most ${MAX_PATH_BYTES}`);
  }
  return path;
}

function invalid(endpoint: string, why: string): CsiError {
  return CsiError.invalidArgument(`endpoint ${JSON.stringify(endpoint)} is not usable: ${why}`, {
    reason: "CSI_ENDPOINT_INVALID",
    hint: "use unix:///path/to/csi.sock",
  });
}
