import type { IncomingMessage, ServerResponse } from "node:http";
import { badRequest } from "@mooring/store";
import type { Call } from "../http/call.ts";

/** Makes a {@link Call} of a request; its signal aborts when the client leaves. Throws BadRequest. */
export function createCall(
  request: IncomingMessage,
  response: ServerResponse,
  { user, parser, buffers }: Pick<Call, "user" | "parser" | "buffers">,
): Call {
  const { path, segments, query } = parseUrl(request.url ?? "/");
  const left = new AbortController();
  response.once("close", () => {
    // After a complete response the client reads nothing more.
    if (!response.writableFinished) left.abort(new Error("the client has left"));
  });
  return {
    request,
    response,
    method: request.method ?? "GET",
    path,
    segments,
    query,
    user,
    caller: user,
    parser,
    buffers,
    signal: left.signal,
    end: (why) => left.abort(why),
  };
}

function parseUrl(url: string): { path: string; segments: string[]; query: URLSearchParams } {
  const [path = "/", ...rest] = url.split("?");
  try {
    const segments = path
      .split("/")
      .filter((segment) => segment !== "")
      .map(decodeURIComponent);
    return { path, segments, query: new URLSearchParams(rest.join("?")) };
  } catch {
    throw badRequest(`the path ${JSON.stringify(path)} is not a URL path`);
  }
}
