// What Mooring's service accounts have asked a real API server for, against what their roles let them ask.
import { readFile } from "node:fs/promises";
import { parseAllDocuments } from "yaml";

const ACCOUNT = /^system:serviceaccount:mooring:(mooring-[a-z]+)$/;

/** Everything that anybody has asked, in the order of the responses. */
export async function readRequests(file) {
  const lines = (await readFile(file, "utf8")).split("\n");
  // The last line may be half written.
  return lines.slice(0, -1).map((line) => JSON.parse(line));
}

/**
 * `{ refused: ["..."], used: Map(account -> Set("verb group/resource")) }`. `starts`: when the API server was not ready yet. It
 * responds before it has read any role or binding: whoever is refused then asks again, and is listed if that is refused as well.
 */
export async function readAudit({ file, starts }) {
  const isStarting = ({ requestReceivedTimestamp }) =>
    starts.some(([from, to]) => {
      const at = Date.parse(requestReceivedTimestamp);
      return at >= from && at <= to;
    });
  const refused = [];
  const used = new Map();
  for (const each of await readRequests(file)) {
    const { user, userAgent, verb, objectRef = {}, responseStatus = {}, requestURI } = each;
    const [, account] = ACCOUNT.exec(user?.username ?? "") ?? [];
    // A test that shows one of its tokens is not Mooring.
    if (account === undefined || userAgent !== "mooring" || objectRef.resource === undefined) continue;
    const { apiGroup = "", resource, subresource } = objectRef;
    const what = `${verb} ${apiGroup}/${resource}${subresource === undefined ? "" : `/${subresource}`}`;
    const known = used.get(account) ?? new Set();
    used.set(account, known.add(what));
    // Nothing new is made in a namespace that goes, whoever may: the events of its last claims, for one.
    const isLate = /because it is being terminated$/.test(responseStatus.message ?? "");
    if (responseStatus.code === 403 && !isLate && !isStarting(each))
      refused.push(`${account}: ${what}: ${responseStatus.message ?? requestURI}`);
  }
  return { refused, used };
}

/** Verbs that a role gives and nobody has used. */
export async function unusedRights(file, used) {
  const unused = [];
  for (const document of parseAllDocuments(await readFile(file, "utf8"))) {
    const { kind, metadata, rules = [] } = document.toJS() ?? {};
    if (!/^(Cluster)?Role$/.test(kind)) continue;
    // The role that lets the controller read leases of images has a name of its own.
    const account = metadata.name === "mooring-image-leases" ? "mooring-controller" : metadata.name;
    for (const { apiGroups, resources, verbs } of rules)
      for (const group of apiGroups)
        for (const resource of resources)
          for (const verb of verbs)
            if (used.get(account)?.has(`${verb} ${group}/${resource}`) !== true)
              unused.push(`${account} (${metadata.namespace ?? "cluster"}): ${verb} ${group}/${resource}`);
  }
  return unused;
}
