import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type StatusDetails, StatusError, type StatusReason } from "@mooring/store";
import type { LogRequest } from "../kubelet/index.ts";
import { type LocalAccess, type NodeAccess, requestTo } from "./access.ts";
import { LOGS_PATH, writeQuery } from "./query.ts";

/** How long connecting to a node may take, TLS handshake included. Its response may take longer: the caller's signal ends it. */
const CONNECT_MS = 5000;

/**
 * The log as the node has it. Throws what the node throws, and ServiceUnavailable when it cannot be reached, both before
 * the first chunk.
 */
export async function* fetchNodeLog(
  access: NodeAccess | LocalAccess,
  asked: LogRequest,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const response = await openResponse(access, `${LOGS_PATH}?${writeQuery(asked)}`, signal);
  if (response.statusCode !== 200) throw await failure(response);
  for await (const chunk of response) yield chunk as Buffer;
}

/** What a node responds to a GET with, whatever its status; its body is still to be read. */
export async function openResponse(
  access: NodeAccess | LocalAccess,
  path: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { sent: request, connected } = requestTo(access, { path, signal });
  const late = setTimeout(
    () => request.destroy(new Error(`no response for ${CONNECT_MS / 1000} s`)),
    CONNECT_MS,
  );
  request.once("socket", (socket) => socket.once(connected, () => clearTimeout(late)));
  try {
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return response;
  } finally {
    clearTimeout(late);
  }
}

/** The node's refusal as the API server passes it on; InternalError where the node's response is no Status. */
export async function failure(response: IncomingMessage): Promise<StatusError> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  try {
    const { reason, message, details, code } = JSON.parse(text) as Record<string, unknown>;
    return new StatusError(
      reason as StatusReason,
      String(message),
      (details ?? {}) as StatusDetails,
      Number(code),
    );
  } catch {
    return new StatusError("InternalError", `the node responded with ${response.statusCode}`);
  }
}
