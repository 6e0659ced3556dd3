import { readFile } from "node:fs/promises";

/** Service account tokens are replaced in place well before they end; a minute is soon enough. */
const REREAD_MS = 60_000;

/** `Bearer <content of the file>`, read again every minute and when the server refuses it. */
export function bearerFromFile(file: string): (refresh: boolean) => Promise<string> {
  let token = "";
  let readAt = Number.NEGATIVE_INFINITY;
  return async (refresh) => {
    if (refresh || performance.now() - readAt > REREAD_MS) {
      token = (await readFile(file, "utf8")).trim();
      readAt = performance.now();
    }
    return `Bearer ${token}`;
  };
}
