import { defined } from "@mooring/store";
import type { Connection, Reply, Who } from "./connection.ts";
import { strictNamespace } from "./world.ts";

/** What somebody asks in one line of a table; returns one cell. */
export type Ask = (server: Connection, request: readonly string[]) => Promise<string>;

const PATCHES: Readonly<Record<string, string>> = {
  MERGE: "application/merge-patch+json",
  APPLY: "application/apply-patch+yaml",
};

/** `ann`, `ann +devs +others`, `admin +system:masters Impersonate-Uid:7` */
export function whoIs(text: string): Who {
  const [user = "", ...more] = text.split(" ");
  const groups = more.filter((each) => each.startsWith("+")).map((each) => each.slice(1));
  const headers = more.filter((each) => !each.startsWith("+")).map((each) => each.split(/:(.*)/s));
  return {
    user,
    ...(groups.length === 0 ? {} : { groups }),
    headers: Object.fromEntries(headers.map(([name = "", value = ""]) => [name.toLowerCase(), value])),
  };
}

/** `$UID(p1)` is the uid of that pod in the namespace team. */
async function filledIn(server: Connection, body: string): Promise<string> {
  const pod = /\$UID\((\w+)\)/.exec(body);
  if (pod === null) return body;
  const reply = await server.send("GET", `/api/v1/namespaces/team/pods/${pod[1]}`);
  return body.replace(pod[0], reply.body.metadata?.uid ?? "");
}

/** WHO, METHOD, PATH, BODY: the code of the response. Nothing is kept. */
export const askRequest: Ask = async (server, [who = "", method = "", path = "", text = ""]) => {
  const body = await filledIn(server, text);
  const query = `${path.includes("?") ? "&" : "?"}dryRun=All${method === "APPLY" ? "&fieldManager=x" : ""}`;
  const type = PATCHES[method];
  const { code } = await server.send(
    type === undefined ? method : "PATCH",
    path + (method === "GET" ? "" : query),
    { who: whoIs(who), ...(body === "" ? {} : { body }), ...defined({ type }) },
  );
  return String(code);
};

/** WHO, VERB, `deployments.apps/scale` or `/metrics`, NAMESPACE, NAME: yes or no. */
export const askAccess: Ask = async (server, [who = "", verb = "", what = "", namespace = "", name = ""]) => {
  const [full = "", subresource = ""] = what.split("/");
  const [resource = "", group = ""] = full.split(/\.(.*)/s);
  const about = what.startsWith("/")
    ? { nonResourceAttributes: { path: what, verb } }
    : { resourceAttributes: { verb, group, resource, subresource, namespace, name } };
  const { user, groups = [] } = whoIs(who);
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user, groups, ...about },
  };
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const { code, body } = await server.send("POST", path, { body: JSON.stringify(review) });
  return code === 201 ? (body.status?.allowed === true ? "yes" : "no") : String(code);
};

const STRICT = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};

/** LEVEL, VERSION, what about it, what differs from a pod that the level takes: `ok`, or what is violated. */
export const askPodSecurity: Ask = async (server, [level = "", version = "", , change = "{}"]) => {
  const { container = {}, annotations = {}, ...spec } = JSON.parse(change) as Record<string, object>;
  const security = level === "restricted" ? { securityContext: STRICT } : {};
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", annotations },
    spec: {
      containers: [{ name: "c", image: "host", command: ["sleep", "1"], ...security, ...container }],
      ...spec,
    },
  };
  const namespace = await strictNamespace(server, level, version);
  const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All`;
  return outcomeOf(await server.send("POST", path, { body: JSON.stringify(pod) }));
};

function outcomeOf({ code, body: { message = "" } }: Reply): string {
  if (code === 201) return "ok";
  const violated = /violates PodSecurity "[^"]*": (.*)$/s.exec(message)?.[1];
  return violated ?? `${code}`;
}
