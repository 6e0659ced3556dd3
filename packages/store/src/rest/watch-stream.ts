import type { Readable } from "node:stream";
import type { KubeObject } from "../object/meta.ts";
import type { Resource } from "../object/resource.ts";
import type { WatchEvent } from "../object-store.ts";
import { decodeObject, isMap, mentionsNull } from "./decode.ts";
import type { HttpClient } from "./http.ts";
import { isStatusObject, networkError, statusFromObject } from "./response-error.ts";

const TYPES = new Set(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]);

interface WatchSurroundings {
  client: Pick<HttpClient, "onSilence">;
  /** What is read of a line. */
  read(line: string): string;
  idleMs: number;
}

/**
 * The events of one watch response. Ends when the server ends it. Throws the StatusError of an ERROR event, and
 * ServiceUnavailable when the connection breaks, brings nonsense, or is silent for `idleMs`: a connection whose other
 * end has vanished never closes it. It also ends when a request of `client` gets no response, and the watch has brought
 * nothing since that began: what was sent while the network was away is sent again by TCP after a delay that has grown as long as
 * that was, and a new watch has it at once.
 */
export async function* watchEvents<T extends KubeObject>(
  resource: Resource<T>,
  response: Readable,
  { client, read, idleMs }: WatchSurroundings,
): AsyncGenerator<WatchEvent<T>, void> {
  response.setEncoding("utf8");
  const silent = () => response.destroy(new Error(`the watch was silent for ${idleMs} ms`));
  let timer = setTimeout(silent, idleMs);
  let heardAt = performance.now();
  const unfollow = client.onSilence((since) => {
    if (heardAt < since) response.destroy(new Error("the server does not respond, and the watch was silent"));
  });
  let rest = "";
  try {
    for await (const chunk of response as AsyncIterable<string>) {
      clearTimeout(timer);
      timer = setTimeout(silent, idleMs);
      heardAt = performance.now();
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line !== "") yield parseEvent(resource, read(line));
      }
    }
  } catch (error) {
    throw networkError(error);
  } finally {
    clearTimeout(timer);
    unfollow();
    response.destroy();
  }
}

function parseEvent<T extends KubeObject>(resource: Resource<T>, line: string): WatchEvent<T> {
  const event = JSON.parse(line) as { type?: string; object?: unknown };
  if (event.type === "ERROR" && isStatusObject(event.object)) throw statusFromObject(event.object);
  if (!TYPES.has(event.type ?? "") || !isMap(event.object) || !isMap(event.object["metadata"])) {
    throw new Error(`not a watch event: ${line.slice(0, 100)}`);
  }
  decodeObject(event.object, resource, mentionsNull(line));
  return event as unknown as WatchEvent<T>;
}
