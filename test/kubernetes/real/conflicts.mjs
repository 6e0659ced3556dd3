// Somebody else writes an object in the very moment in which Mooring's controller changes it: the API server asks us before it stores the
// change, we write first, and the controller's write is refused as a conflict. So what it reads again then is read on every run. One
// object of a kind is stored although the controller hears that the server was unavailable: what it asks for again is there then.
import { readFileSync } from "node:fs";
import { Agent, createServer, request } from "node:https";

/** Changes of a kind that are met. Not all of them insist on a version; and one object after another gets through. */
const MEETINGS = 6;
const NAME = "conflicts";
const CONTROLLER = "system:serviceaccount:mooring:mooring-controller";
const RESOURCES = {
  "": ["persistentvolumeclaims", "persistentvolumes", "configmaps"],
  "snapshot.storage.k8s.io": ["volumesnapshots", "volumesnapshotcontents"],
  "groupsnapshot.storage.k8s.io": ["volumegroupsnapshots", "volumegroupsnapshotcontents"],
  "storage.mooring.dev": ["volumegroups", "volumegroupcontents", "volumegrouprestores", "volumegroupclones"],
};

/** Stored once without a word to whoever asked for it. */
const UNNOTICED = "configmaps";

const webhook = (port, authority) => ({
  ...{ apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" },
  metadata: { name: NAME },
  webhooks: [
    {
      ...{ name: "conflicts.example.com", admissionReviewVersions: ["v1"], timeoutSeconds: 30 },
      ...{ sideEffects: "NoneOnDryRun", failurePolicy: "Fail" },
      clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: authority.toString("base64") },
      matchConditions: [{ name: "controller", expression: `request.userInfo.username == '${CONTROLLER}'` }],
      rules: [
        ...Object.entries(RESOURCES).map(([group, resources]) => ({
          ...{ apiGroups: [group], apiVersions: ["*"], operations: ["UPDATE"] },
          resources: resources.flatMap((name) => [name, `${name}/status`]),
        })),
        { apiGroups: [""], apiVersions: ["*"], operations: ["CREATE"], resources: [UNNOTICED] },
      ],
    },
  ],
});

/**
 * Changes objects as an administrator, by requests of its own: a `kubectl` for each takes longer to start on a busy machine than a webhook
 * may take to respond.
 */
function writer({ pki, admin }) {
  const [{ cluster }] = JSON.parse(readFileSync(admin, "utf8")).clusters;
  const [ca, cert, key] = ["ca.crt", "admin.crt", "admin.key"].map((name) => readFileSync(pki.at(name)));
  const agent = new Agent({ keepAlive: true, ca, cert, key });
  const send = (method, path, { type, body }) =>
    new Promise((resolve, reject) => {
      const headers = { "content-type": type };
      const sent = request(`${cluster.server}${path}`, { agent, headers, method }, (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode));
      });
      sent.on("error", reject).end(JSON.stringify(body));
    });
  return {
    annotate: (path, annotations) =>
      send("PATCH", path, { type: "application/merge-patch+json", body: { metadata: { annotations } } }),
    create: (path, body) => send("POST", path, { type: "application/json", body }),
    end: () => agent.destroy(),
  };
}

function collectionOf({ resource: { group, version, resource }, namespace }) {
  const api = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${api}${namespace === undefined ? "" : `/namespaces/${namespace}`}/${resource}`;
}

const kindOf = ({ group, resource }) => (group === "" ? resource : `${resource}.${group}`);

/** Stores what is asked for, once; returns what the server says to whoever has asked. */
async function storeUnnoticed({ create }, asked, met) {
  const what = `new ${kindOf(asked.resource)}`;
  if (met.has(what)) return undefined;
  const { metadata, ...object } = asked.object;
  const { name, labels, annotations } = metadata;
  const code = await create(collectionOf(asked), { ...object, metadata: { name, labels, annotations } });
  if (code !== 201) throw new Error(`${what} ${name}: ${code}`);
  met.set(what, 1);
  return { code: 503, reason: "ServiceUnavailable", message: "stored, but nobody is to know" };
}

/** Writes first, whoever comes; `met`: how often by kind. */
async function meet({ annotate }, asked, met) {
  const kind = kindOf(asked.resource);
  const times = met.get(kind) ?? 0;
  if (times === MEETINGS) return;
  met.set(kind, times + 1);
  await annotate(`${collectionOf(asked)}/${asked.name}`, { "example.com/met": String(times) });
}

async function bodyOf(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
}

/** Changed only where claims come together: nobody can be sure of that. */
const SOMETIMES = new Set(["configmaps"]);

/** While `work` runs; returns its exit code. Throws when all of it has passed, and the writes of a kind were met by nobody. */
export async function withConflicts(kube, work) {
  const { pki, kubectl } = kube.cluster;
  await pki.certificate(NAME, "/CN=conflicts", "IP:127.0.0.1");
  const met = new Map();
  const write = writer(kube.cluster);
  const server = createServer(
    { cert: readFileSync(pki.at(`${NAME}.crt`)), key: readFileSync(pki.at(`${NAME}.key`)) },
    async (incoming, response) => {
      const { apiVersion, kind, request: asked } = await bodyOf(incoming);
      const first = asked.operation === "CREATE" ? storeUnnoticed : meet;
      // It may be gone by now; then there is nothing to write first.
      const status = await first(write, asked, met).catch(() => undefined);
      response.setHeader("content-type", "application/json");
      const result = { uid: asked.uid, allowed: status === undefined, status };
      response.end(JSON.stringify({ apiVersion, kind, response: result }));
    },
  );
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await kube.apply(webhook(server.address().port, readFileSync(pki.at("ca.crt"))));
    const exit = await work();
    const changed = Object.entries(RESOURCES).flatMap(([group, names]) =>
      names.map((resource) => kindOf({ group, resource })),
    );
    const missed = [...changed.filter((kind) => !SOMETIMES.has(kind)), `new ${UNNOTICED}`].filter(
      (kind) => !met.has(kind),
    );
    if (exit === 0 && missed.length > 0) throw new Error(`nobody met these: ${missed.join(", ")}`);
    return exit;
  } finally {
    await kubectl("delete", "validatingwebhookconfiguration", NAME, "--ignore-not-found");
    write.end();
    server.closeAllConnections();
    server.close();
  }
}
