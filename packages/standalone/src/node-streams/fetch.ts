import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { isStatusObject, StatusError, statusFromObject } from "@mooring/store";
import type { LogRequest } from "../kubelet/index.ts";
import { type LocalAccess, type NodeAccess, requestTo } from "./access.ts";
import { LOGS_PATH, writeQuery } from "./query.ts";

/** How long connecting to a node may take, TLS handshake included. Its response may take longer: the caller's signal ends it. */
const CONNECT_MS = 5000;
/** As much of a refusal is read as a Status may have; a node is another machine, and may send anything. */
const MOST_BYTES = 64 * 1024;

/** The log as the node has it. Throws what the node throws, or why it cannot be reached, both before the first chunk. */
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
    () => request.destroy(new Error(`no connection within ${CONNECT_MS / 1000} s`)),
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
  const code = response.statusCode ?? 500;
  const refusal = parsed(await beginning(response));
  if (isStatusObject(refusal)) return statusFromObject(refusal, code);
  return new StatusError("InternalError", `the node responded with ${code}, and did not say why`);
}

/** All of a body that is at most {@link MOST_BYTES} long. */
async function beginning(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > MOST_BYTES) break;
  }
  return Buffer.concat(chunks).toString();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
