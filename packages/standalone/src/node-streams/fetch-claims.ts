import { AMOUNT_NAMES, type ClaimUsage } from "../kubelet/volumes/usage.ts";
import type { NodeAccess } from "./access.ts";
import { failure, openResponse } from "./fetch.ts";
import { CLAIMS_PATH } from "./query.ts";

/** Some thirty thousand claims; a node has a few hundred. */
const MOST_BYTES = 4 * 1024 ** 2;

/** What the claims of another node have left, as that node measures it. Throws what the node throws, and any failure of the connection. */
export async function fetchClaims(access: NodeAccess, signal: AbortSignal): Promise<ClaimUsage[]> {
  const response = await openResponse(access, CLAIMS_PATH, signal);
  if (response.statusCode !== 200) throw await failure(response);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error(`a node sends more than ${MOST_BYTES} bytes about its claims`);
    chunks.push(chunk);
  }
  return readClaims(JSON.parse(Buffer.concat(chunks).toString()));
}

/** A node is another machine: of what it sends only what has the right form is taken, and nothing else that it adds. */
function readClaims(sent: unknown): ClaimUsage[] {
  if (!Array.isArray(sent)) throw new Error("a node sends no list of claims");
  return sent.flatMap((each: unknown): ClaimUsage[] => {
    if (typeof each !== "object" || each === null) return [];
    const { namespace, claim, amounts } = each as Record<string, unknown>;
    if (typeof namespace !== "string" || typeof claim !== "string") return [];
    if (typeof amounts !== "object" || amounts === null) return [];
    const given = amounts as Record<string, unknown>;
    const numbers = AMOUNT_NAMES.filter((name) => Number.isFinite(given[name]));
    return [
      { namespace, claim, amounts: Object.fromEntries(numbers.map((name) => [name, Number(given[name])])) },
    ];
  });
}
