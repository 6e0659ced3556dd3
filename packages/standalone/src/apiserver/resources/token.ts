import {
  invalid,
  type KubeObject,
  Pods,
  Secrets,
  type ServiceAccount,
  ServiceAccounts,
} from "@mooring/store";
import type { Api } from "../api.ts";
import type { TokenOrder } from "../auth/service-account.ts";
import { negotiate } from "../http/accept.ts";
import type { Call } from "../http/call.ts";
import { send } from "../http/respond.ts";
import { type Expected, readObject } from "./decode-object.ts";
import type { ItemTarget } from "./target.ts";

const TOKEN_REQUEST: Expected = {
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenRequest",
  defaulted: true,
};
const DEFAULT_SECONDS = 3600;
const MIN_SECONDS = 600;

interface TokenSpec {
  audiences?: string[];
  expirationSeconds?: number;
  boundObjectRef?: { kind?: string; name?: string; uid?: string };
}

/** POST serviceaccounts/NAME/token: `kubectl create token`, and what kubelets ask for pods and drivers. */
export async function handleToken(call: Call, target: ItemTarget, { store, tokens }: Api): Promise<void> {
  const { format } = negotiate(call.request.headers.accept, ["Object"]);
  const request = await readObject(call, target, "Ignore", TOKEN_REQUEST);
  const { namespace = "" } = target;
  const account = await store.get<ServiceAccount>(ServiceAccounts, { namespace, name: target.name });
  const spec = (request.spec ?? {}) as TokenSpec;
  const { audiences = [], expirationSeconds: seconds = DEFAULT_SECONDS } = spec;
  if (!Number.isInteger(seconds) || seconds < MIN_SECONDS) {
    throw invalid({ group: "authentication.k8s.io", kind: "TokenRequest" }, "", [
      {
        reason: "FieldValueInvalid",
        message: `Invalid value: ${JSON.stringify(seconds)}: may not specify a duration less than 10 minutes`,
        field: "spec.expirationSeconds",
      },
    ]);
  }
  const bound = await boundObject(spec, namespace, store);
  const { name, uid = "" } = account.metadata;
  const order = { namespace, account: { name, uid }, audiences, seconds, ...bound };
  const { token, expires } = tokens.issue(order, new Date());
  const status = { token, expirationTimestamp: `${expires.toISOString().slice(0, 19)}Z` };
  await send(call, 201, { ...request, status }, format);
}

async function boundObject(
  { boundObjectRef }: TokenSpec,
  namespace: string,
  store: Api["store"],
): Promise<Pick<TokenOrder, "boundTo">> {
  const { kind, name = "" } = boundObjectRef ?? {};
  if (kind !== "Pod" && kind !== "Secret") return {};
  const object: KubeObject =
    kind === "Pod"
      ? await store.get(Pods, { namespace, name })
      : await store.get(Secrets, { namespace, name });
  return { boundTo: { kind, name, uid: object.metadata.uid ?? "" } };
}
