import { isAbsolute, resolve } from "node:path";
import { CsiError } from "../errors/csi-error.ts";

/** Longest path of a unix socket that the kernel takes, in bytes. Node truncates longer ones silently. */
const MAX_SOCKET_PATH = 107;

/**
 * The socket path of an endpoint: `unix:///abs/path`, `unix:/abs/path`, `unix:relative`, or a bare path, as
 * CSI_ENDPOINT may be given. Throws INVALID_ARGUMENT for anything else and for paths over 107 bytes.
 */
export function socketPath(endpoint: string): string {
  const path = /^unix:\/\//.test(endpoint) ? endpoint.slice(7) : endpoint.replace(/^unix:/, "");
  if (path === "" || path.includes("\0") || /^[a-z][a-z0-9+.-]*:/i.test(path)) {
    throw CsiError.invalidArgument(`${JSON.stringify(endpoint)} is not a unix socket`, {
      hint: "write it like unix:///run/csi/csi.sock",
    });
  }
  if (endpoint.startsWith("unix://") && !isAbsolute(path)) {
    throw CsiError.invalidArgument(`${JSON.stringify(endpoint)} has no absolute path`, {
      hint: "three slashes: unix:///run/csi/csi.sock",
    });
  }
  const absolute = resolve(path);
  const length = Buffer.byteLength(absolute);
  if (length > MAX_SOCKET_PATH) {
    throw CsiError.invalidArgument(
      `the socket path has ${length} bytes, the kernel takes ${MAX_SOCKET_PATH}: ${absolute}`,
      {
        hint: "choose a shorter folder",
      },
    );
  }
  return absolute;
}

/** `CSI_ENDPOINT`, as the specification has supervisors set it. Throws INVALID_ARGUMENT when it is missing. */
export function endpointFromEnvironment(env: Record<string, string | undefined> = process.env): string {
  const endpoint = env.CSI_ENDPOINT;
  if (endpoint !== undefined && endpoint !== "") return endpoint;
  throw CsiError.invalidArgument("CSI_ENDPOINT is not set", {
    reason: "CSI_ENDPOINT_INVALID",
    hint: "set it to a socket path, for example CSI_ENDPOINT=unix:///run/csi/csi.sock",
  });
}
