import { Random } from "@mooring/store/testing";
import { EXAMPLES } from "./examples.ts";
import {
  ACCEPTS,
  BODY_TYPES,
  HEADERS,
  METHODS,
  NAMES,
  ODD_ACCEPTS,
  ODD_METHODS,
  ODD_TYPES,
  PATCH_TYPES,
  QUERY,
  SUBRESOURCES,
} from "./queries.ts";
import { rawBody, yamlBody } from "./raw-bodies.ts";
import { anyValue, mutated, pointersOf } from "./values.ts";

/** One request as it goes over the wire. */
export interface FuzzRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | Buffer;
}

/** A kind that is served. */
export interface Collection {
  /** `/api/v1/namespaces/default/pods` */
  path: string;
  apiVersion: string;
  kind: string;
  /** Names of fields, of any depth. */
  fields: readonly string[];
}

const OTHER_PATHS = [
  ...["/api", "/apis", "/apis/apps", "/openapi/v2", "/openapi/v3", "/openapi/v3/apis/__proto__", "/version"],
  ...["/healthz", "/readyz?verbose", "/livez/x", "/metrics", "/v1/volumes", "/v1/volumes/x", "/join"],
  ...[
    "/api/v1",
    "/apis/__proto__/v1",
    "/api/v1/__proto__",
    "/apis/a/b/c/d/e/f/g/h",
    "/api/v1/namespaces/a/b/c",
  ],
];
const REVIEWS = [
  ...["authorization.k8s.io/v1/selfsubjectaccessreviews", "authorization.k8s.io/v1/subjectaccessreviews"],
  ...["authorization.k8s.io/v1/selfsubjectrulesreviews", "authentication.k8s.io/v1/tokenreviews"],
  "authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
].map((path) => `/apis/${path}`);
const REVIEW_FIELDS = [
  ...["spec", "user", "groups", "resourceAttributes", "nonResourceAttributes", "namespace", "verb", "token"],
  ...["audiences", "resource", "path", "labelSelector", "fieldSelector", "requirements"],
];

/** The request with this number: the same for the same seed and kinds, whatever was asked before. */
export function requestOf(seed: number, number: number, collections: readonly Collection[]): FuzzRequest {
  const random = new Random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b));
  for (let warm = 0; warm < 3; warm++) random.next();
  const target = random.one(collections);
  const method = random.chance(0.03) ? random.one(ODD_METHODS) : random.one(METHODS);
  const headers = headersOf(random);
  const path = pathOf(random, target, method);
  if (method === "GET" || method === "HEAD" || method === "TRACE") return { method, path, headers };
  const type = random.chance(0.1)
    ? random.one(ODD_TYPES)
    : random.one(method === "PATCH" ? PATCH_TYPES : BODY_TYPES);
  headers["content-type"] = type;
  if (method === "DELETE") return { method, path, headers, ...deletion(random, target) };
  return { method, path, headers, body: bodyOf(random, target, type) };
}

function headersOf(random: Random): Record<string, string> {
  const headers: Record<string, string> = { accept: random.one(random.chance(0.07) ? ODD_ACCEPTS : ACCEPTS) };
  const user = random.chance(0.85) ? "untrusted" : random.one(["someone", "system:node:seed"]);
  headers["impersonate-user"] = user;
  if (user.startsWith("system:node")) headers["impersonate-group"] = "system:nodes";
  if (random.chance(0.1)) {
    const [name, value] = random.one(HEADERS);
    headers[name] = value;
  }
  return headers;
}

function pathOf(random: Random, target: Collection, method: string): string {
  let path = random.chance(0.03)
    ? random.one(OTHER_PATHS)
    : random.chance(0.03)
      ? random.one(REVIEWS)
      : target.path;
  const one = random.chance(method === "POST" ? 0.1 : 0.85);
  if (one) path += `/${random.chance(0.8) ? "seed" : random.one(NAMES)}`;
  if (random.chance(0.12)) path += `/${random.one(SUBRESOURCES)}`;
  const query = Array.from({ length: random.below(3) }, () => random.one(QUERY));
  // Everything is tried and hardly anything is kept: what a run leaves would slow the rest of it down, and what is needed stays.
  const kept = method === "DELETE" ? 0 : 0.2;
  if (!random.chance(kept)) query.push("dryRun=All");
  return query.length === 0 ? path : `${path}${path.includes("?") ? "&" : "?"}${query.join("&")}`;
}

function bodyOf(random: Random, target: Collection, type: string): string | Buffer {
  const fields = [...target.fields, ...REVIEW_FIELDS];
  const kind = random.below(20);
  if (kind < 3) return rawBody(random);
  if (type.includes("yaml") && kind < 8) return yamlBody(random);
  const [group] = target.apiVersion.includes("/") ? target.apiVersion.split("/") : [""];
  const example = { ...EXAMPLES[`${group}/${target.kind}`] };
  const named = { apiVersion: target.apiVersion, kind: target.kind, ...example };
  if (type.includes("json-patch")) return JSON.stringify(jsonPatch(random, named, fields));
  if (kind < 6) return JSON.stringify(anyValue(random, fields, 5));
  if (kind < 9)
    return JSON.stringify({
      ...named,
      spec: anyValue(random, fields, 5),
      ...(random.chance(0.3) ? { metadata: anyValue(random, fields, 3) } : {}),
    });
  return JSON.stringify(mutated(random, named, fields));
}

/** Options in the body stand for those of the query: without `dryRun` there, a collection would be gone. */
function deletion(random: Random, target: Collection): { body?: string } {
  if (random.chance(0.4)) return {};
  const options = {
    apiVersion: "v1",
    kind: "DeleteOptions",
    gracePeriodSeconds: 1,
    preconditions: { uid: "u" },
  };
  const asked = mutated(
    random,
    { ...options, propagationPolicy: "Orphan", orphanDependents: true },
    target.fields,
  );
  return { body: JSON.stringify({ ...(asked as object), dryRun: ["All"] }) };
}

function jsonPatch(random: Random, example: object, fields: readonly string[]): unknown {
  const operations = Array.from({ length: 1 + random.below(random.chance(0.02) ? 2_000 : 4) }, () => {
    const pointers = [
      ...pointersOf(example),
      "",
      "/",
      "/spec/__proto__/x",
      "/metadata/labels/~1~0~2",
      "/-",
      "x",
    ];
    return {
      op: random.one(["add", "add", "replace", "remove", "move", "copy", "test", "x"]),
      path: random.chance(0.8)
        ? random.one(pointers)
        : `${random.one(pointers)}/${random.one(["-", "0", "99999999999", "a"])}`,
      from: random.one(pointers),
      value: anyValue(random, fields, 3),
    };
  });
  return random.chance(0.95) ? operations : anyValue(random, fields, 2);
}
