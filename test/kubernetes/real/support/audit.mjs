// What Mooring's service accounts have asked a real API server for, against what their roles let them ask.
import { readFile } from "node:fs/promises";
import { noteUsed } from "./used-rights.mjs";

const ACCOUNT = /^system:serviceaccount:mooring:(mooring-[a-z]+)$/;

/** Everything that anybody has asked, in the order of the responses. */
export async function readRequests(file) {
  const lines = (await readFile(file, "utf8")).split("\n");
  // The last line may be half written.
  return lines.slice(0, -1).map((line) => JSON.parse(line));
}

/** How many there are by now. */
export const requestsSoFar = async ({ audit }) => (await readRequests(audit.file)).length;

/** Where roles of Mooring give rights besides the cluster's: a right that is used there alone says so. */
const NAMESPACES = new Set(["mooring", "kube-system"]);

/** `verb group/resource`, and where. */
function rightOf({ verb, objectRef: { apiGroup = "", resource, subresource, namespace } }) {
  const what = `${verb} ${apiGroup}/${resource}${subresource === undefined ? "" : `/${subresource}`}`;
  return NAMESPACES.has(namespace) ? `${what} in ${namespace}` : what;
}

/**
 * `{ refused: ["..."], used: { account: Set("verb group/resource[ in NAMESPACE]") } }`. `starts`: when the API server was not ready yet. It
 * responds before it has read any role or binding: whoever is refused then asks again, and is listed if that is refused as well.
 * `usedFrom`: requests before that are not counted as used.
 */
export async function readAudit({ file, starts }, usedFrom = 0) {
  const isStarting = ({ requestReceivedTimestamp }) =>
    starts.some(([from, to]) => {
      const at = Date.parse(requestReceivedTimestamp);
      return at >= from && at <= to;
    });
  const refused = [];
  const used = {};
  for (const [at, each] of (await readRequests(file)).entries()) {
    const { user, userAgent, objectRef = {}, responseStatus = {}, requestURI } = each;
    const [, account] = ACCOUNT.exec(user?.username ?? "") ?? [];
    // A test that shows one of its tokens is not Mooring.
    if (account === undefined || userAgent !== "mooring" || objectRef.resource === undefined) continue;
    const what = rightOf(each);
    used[account] ??= new Set();
    if (at >= usedFrom) used[account].add(what);
    // Nothing new is made in a namespace that goes, whoever may: the events of its last claims, for one.
    const isLate = /because it is being terminated$/.test(responseStatus.message ?? "");
    if (responseStatus.code === 403 && !isLate && !isStarting(each))
      refused.push(`${account}: ${what}: ${responseStatus.message ?? requestURI}`);
  }
  return { refused, used };
}

/**
 * Throws when anything was refused. What was used counts for the run, and is recorded where that is asked for: see
 * ./used-rights.mjs. `usedFrom`: of {@link requestsSoFar}, where another version of Mooring has run before.
 */
export async function nothingRefused({ audit }, usedFrom = 0) {
  const { refused, used } = await readAudit(audit, usedFrom);
  await noteUsed(used);
  if (refused.length > 0) throw new Error(`refused:\n${refused.join("\n")}`);
}
