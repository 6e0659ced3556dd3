/** What may stand behind the question mark. */
export const QUERY = [
  ...["dryRun=No", "fieldManager=f", `fieldManager=${"x".repeat(200)}`, "force=true", "force=x"],
  ...["fieldValidation=Strict", "fieldValidation=Warn", "fieldValidation=x", "pretty=true"],
  ...[
    "labelSelector=a%3D%3D",
    "labelSelector=a+in+(",
    "labelSelector=%21%21a",
    "labelSelector=a%3E3,b+in+(c,)",
  ],
  ...[`labelSelector=${"a%3Db,".repeat(300)}a`, "labelSelector=__proto__%3Dx", "labelSelector=a%00"],
  ...["fieldSelector=metadata.name%3Dseed", "fieldSelector=x%3D%3D%3D", "fieldSelector=spec.nodeName%3D"],
  ...["fieldSelector=metadata.name%21%3Da,metadata.namespace%3Ddefault", "fieldSelector=__proto__%3Da"],
  ...["limit=1", "limit=-1", "limit=1e300", "continue=%22%7B", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"],
  ...[
    "resourceVersion=abc",
    "resourceVersion=0",
    "resourceVersion=1",
    "resourceVersion=99999999999999999999",
  ],
  ...["resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan", "gracePeriodSeconds=99999999999"],
  ...["gracePeriodSeconds=-1", "propagationPolicy=x", "propagationPolicy=Orphan", "orphanDependents=true"],
  ...[
    "timeoutSeconds=0",
    "timeoutSeconds=1e9",
    "watch=true",
    "watch=1",
    "watch=x",
    "allowWatchBookmarks=true",
  ],
  ...[
    "sendInitialEvents=true",
    "sendInitialEvents=x",
    "preconditions.uid=x",
    "%00=%00",
    "a[b]=c",
    "=",
    "%zz=1",
  ],
  ...["follow=true", "tailLines=-1", "sinceTime=x", "command=%00", "container=c"],
];

/** Those that handlers know; doubled ones are drawn more often. */
export const METHODS = ["GET", "POST", "POST", "PUT", "PATCH", "PATCH", "PATCH", "DELETE"];
/** Those that no resource has. */
export const ODD_METHODS = ["HEAD", "OPTIONS", "TRACE", "PROPFIND", "LOCK"];

/** Media types of bodies that an API server reads, and one that ours refuses. */
export const BODY_TYPES = [
  ...["application/json", "application/json", "application/json", "application/yaml"],
  "application/vnd.kubernetes.protobuf",
];
/** Media types of patches. */
export const PATCH_TYPES = [
  ...["application/merge-patch+json", "application/json-patch+json"],
  ...["application/strategic-merge-patch+json", "application/apply-patch+yaml"],
];
/** Media types that do not fit the method, or are none. */
export const ODD_TYPES = [
  ...["__proto__", "constructor", "text/plain", "application/json; charset=utf-8", "application/json;;;="],
  ...["a/b/c", "application/apply-patch+cbor", "application/merge-patch+json", "application/yaml"],
];

/** Representations that clients ask for. */
export const ACCEPTS = [
  ...["application/json", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf, */*"],
  "application/json;as=Table;g=meta.k8s.io;v=v1",
  "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
];
/** `Accept` headers that are malformed, or ask for what is not there. */
export const ODD_ACCEPTS = [
  ...["__proto__", ";;;q=", "*/*;q=1e999", "application/json;as=__proto__;g=meta.k8s.io;v=v1"],
  ...["application/cbor", "application/vnd.kubernetes.protobuf"],
];

/** Names of objects, valid and not. */
export const NAMES = [
  ...[
    "a",
    "b",
    "default",
    "__proto__",
    "constructor",
    "..",
    "%2e%2e",
    "%00",
    "A_b",
    "x".repeat(300),
    "%zz",
    "é",
  ],
  ...["%2F", "seed%2Fstatus", "%F0%9F%92%A9"],
];

/** Last segments of paths, of resources that have them and of others. */
export const SUBRESOURCES = [
  ...["status", "status", "scale", "log", "token", "binding", "eviction", "finalize", "exec", "attach"],
  ...[
    "portforward",
    "proxy",
    "proxy/a/b",
    "approval",
    "ephemeralcontainers",
    "nothing",
    "__proto__",
    "status/x",
  ],
];

/** Headers that a server may stumble over, one at a time. */
export const HEADERS: readonly (readonly [string, string])[] = [
  ...([
    ["impersonate-group", "g"],
    ["impersonate-uid", "1"],
    ["impersonate-extra-%zz", "v"],
  ] as const),
  ...([
    ["impersonate-extra-__proto__", "v"],
    ["authorization", "Bearer a.b.c"],
    ["authorization", "Basic YTpi"],
  ] as const),
  ...([
    ["authorization", "Bearer ey.ey.ey"],
    ["accept-encoding", "gzip"],
    ["content-encoding", "gzip"],
  ] as const),
  ...([
    ["expect", "100-continue"],
    ["range", "bytes=0-1"],
    ["if-match", "*"],
    ["x-http-method-override", "DELETE"],
  ] as const),
  ...([
    ["x-forwarded-for", "::1"],
    ["connection", "upgrade"],
    ["upgrade", "websocket"],
  ] as const),
];
