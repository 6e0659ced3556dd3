// Mooring's service accounts with tokens that end while it runs: the kubelet replaces them, and no process notices.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { readRequests } from "../support/audit.mjs";
import { SERVICE_ADDRESS } from "../support/control-plane.mjs";
import { until } from "../support/program.mjs";
import { containers, everythingWorks, writeOn } from "./restarts.mjs";

const AT = "/var/run/secrets/kubernetes.io/serviceaccount";
/** The shortest that Kubernetes gives. The kubelet replaces a token when a fifth of its time is left. */
const LIFE_S = 600;
/** For so long after its end the API server takes a token still. */
const LEEWAY_S = 60;

/** What every pod has there, but for the time. */
const VOLUME = {
  name: "token",
  projected: {
    sources: [
      { serviceAccountToken: { path: "token", expirationSeconds: LIFE_S } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
    ],
  },
};

/** Gives all processes of Mooring new pods, whose tokens have the shortest life. */
export async function shortTokens(kube) {
  const mooring = (...args) => kube.kubectl("-n", "mooring", ...args);
  for (const [container, target] of [
    ["node", "daemonset/mooring-node"],
    ["controller", "deployment/mooring-controller"],
  ]) {
    const volumeMounts = [{ name: VOLUME.name, mountPath: AT, readOnly: true }];
    const spec = { volumes: [VOLUME], containers: [{ name: container, volumeMounts }] };
    await mooring("patch", target, "--patch", JSON.stringify({ spec: { template: { spec } } }));
    await mooring("rollout", "status", target, "--timeout=900s");
  }
}

/** What each process shows to the API server, by its pod. */
export async function tokens(kube) {
  const mooring = (...args) => kube.kubectl("-n", "mooring", ...args);
  const living =
    '{range .items[?(@.status.phase=="Running")]}{.metadata.name} {.metadata.deletionTimestamp}{"\\n"}{end}';
  const found = new Map();
  for (const line of (await mooring("get", "pods", "-o", `jsonpath=${living}`)).split("\n")) {
    const [pod, leaving] = line.split(" ");
    if (pod !== "" && leaving === "") found.set(pod, await mooring("exec", pod, "--", "cat", `${AT}/token`));
  }
  return found;
}

/** What the API server returns to whoever shows this token. */
async function codeFor(token, authority) {
  const ca = await readFile(authority, "utf8");
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token.trim()}` };
    const sent = request(`https://${SERVICE_ADDRESS}/version`, { ca, headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", reject).end();
  });
}

function expiryOf(token) {
  const { exp, iat } = JSON.parse(Buffer.from(token.split(".")[1], "base64url").toString());
  assert.equal(exp - iat, LIFE_S);
  return exp;
}

/** What Mooring has asked since then, and was refused as unknown. */
async function otherCallers(file, from) {
  const asked = (await readRequests(file)).slice(from);
  const refused = asked.filter(({ responseStatus }) => responseStatus?.code === 401);
  assert.notEqual(refused.length, 0, "the audit log lists no refusals: it cannot show that there were none");
  const ours = (requests) => requests.filter(({ userAgent }) => userAgent === "mooring");
  assert.notEqual(ours(asked).length, 0);
  return ours(refused);
}

/** `first`: what {@link tokens} were, of pods that are still there. `data`: folders in which pods count. */
export async function tokensExpire(kube, { first, data }) {
  const { audit, pki } = kube.cluster;
  const codeOf = (token) => codeFor(token, pki.at("ca.crt"));
  const before = await containers(kube);
  const from = (await readRequests(audit.file)).length;
  const ends = Math.max(...[...first.values()].map(expiryOf));
  const refused = async () => {
    for (const token of first.values()) if ((await codeOf(token)) !== 401) return false;
    return true;
  };
  const left = Math.max(0, ends - Date.now() / 1000) + LEEWAY_S;
  await until("the first tokens to be refused", refused, left + 600);
  const now = await tokens(kube);
  assert.deepEqual([...now.keys()].sort(), [...first.keys()].sort(), "there are other pods");
  for (const [pod, token] of now) {
    assert.notEqual(token, first.get(pod), `${pod} has the token that it began with`);
    assert.equal(await codeOf(token), 200, pod);
  }
  await writeOn(data);
  await everythingWorks(kube, "after-expiry");
  assert.equal(await containers(kube), before, "a process of Mooring has ended");
  assert.deepEqual(await otherCallers(audit.file, from), [], "Mooring has shown a token that had ended");
}
