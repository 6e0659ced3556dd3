import {
  badRequest,
  conflict,
  defined,
  invalid,
  type KubeObject,
  Nodes,
  type Pod,
  Pods,
  type Resource,
  Secrets,
  type ServiceAccount,
  ServiceAccounts,
} from "@mooring/store";
import { isObject } from "../../schema/model.ts";
import { requireOwnPod } from "../admission/node-tokens.ts";
import type { Api } from "../api.ts";
import type { TokenOrder } from "../auth/service-account.ts";
import { negotiate } from "../http/accept.ts";
import { type Call, warn } from "../http/call.ts";
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
/** What is asked beyond that is refused; what is asked within is shortened to a day. */
const MAX_SECONDS = 2 ** 32;
const LONGEST_SECONDS = 24 * 3600;

interface TokenSpec {
  audiences?: string[];
  expirationSeconds?: number;
  boundObjectRef?: { kind?: string; name?: string; uid?: string };
}

const about = { group: "authentication.k8s.io", kind: "TokenRequest" };

/** POST serviceaccounts/NAME/token: `kubectl create token`, and what kubelets ask for pods and drivers. */
export async function handleToken(call: Call, target: ItemTarget, api: Api): Promise<void> {
  const { store, tokens } = api;
  const { format } = negotiate(call.request.headers.accept, ["Object"]);
  const request = await readObject(call, target, "Ignore", TOKEN_REQUEST);
  const { namespace = "" } = target;
  const account = await store.get<ServiceAccount>(ServiceAccounts, { namespace, name: target.name });
  const spec = checkedSpec(request.spec);
  const { audiences = [], boundObjectRef } = spec;
  const asked = spec.expirationSeconds ?? DEFAULT_SECONDS;
  const seconds = Math.min(asked, LONGEST_SECONDS);
  const { name, uid = "" } = account.metadata;
  const wanted = { namespace, account: name, audiences, ...defined({ boundTo: boundObjectRef }) };
  await requireOwnPod(call, wanted, api);
  const bound = await boundObject(boundObjectRef, { namespace, account: name }, store);
  const order = { namespace, account: { name, uid }, audiences, seconds, ...bound };
  const { token, expires } = await tokens.issue(order, new Date());
  const status = { token, expirationTimestamp: `${expires.toISOString().slice(0, 19)}Z` };
  if (asked > seconds)
    warn(call, `the token lives for ${seconds} seconds, the longest that this server gives`);
  const response = {
    ...request,
    spec: { ...spec, audiences: tokens.audiencesOf(audiences), expirationSeconds: seconds },
  };
  await send(call, 201, { ...response, status }, format);
}

const wrong = (field: string, reason: string, message: string) =>
  invalid(about, "", [{ reason, message, field }]);

function checkedSpec(given: unknown): TokenSpec {
  if (given === undefined || given === null) return {};
  if (!isObject(given)) throw badRequest("TokenRequest: json: cannot unmarshal spec into an object");
  const { audiences, expirationSeconds: seconds, boundObjectRef } = given;
  const texts = Array.isArray(audiences) && audiences.every((each) => typeof each === "string");
  if (audiences !== undefined && audiences !== null && !texts)
    throw badRequest("TokenRequest: json: cannot unmarshal spec.audiences into a list of strings");
  if (boundObjectRef !== undefined && boundObjectRef !== null && !isObject(boundObjectRef))
    throw badRequest("TokenRequest: json: cannot unmarshal spec.boundObjectRef into an object");
  return {
    ...(texts ? { audiences } : {}),
    ...(seconds === undefined || seconds === null ? {} : { expirationSeconds: checkedSeconds(seconds) }),
    ...(isObject(boundObjectRef) ? { boundObjectRef } : {}),
  };
}

function checkedSeconds(seconds: unknown): number {
  if (typeof seconds !== "number" || !Number.isSafeInteger(seconds))
    throw badRequest("TokenRequest: json: cannot unmarshal spec.expirationSeconds into an int64");
  const field = "spec.expirationSeconds";
  if (seconds < MIN_SECONDS) {
    const message = `Invalid value: ${seconds}: may not specify a duration less than 10 minutes`;
    throw wrong(field, "FieldValueInvalid", message);
  }
  if (seconds > MAX_SECONDS) {
    const message = `Invalid value: ${seconds}: may not specify a duration larger than 2^32 seconds`;
    throw wrong(field, "FieldValueInvalid", message);
  }
  return seconds;
}

async function boundObject(
  ref: TokenSpec["boundObjectRef"],
  { namespace, account }: { namespace: string; account: string },
  store: Api["store"],
): Promise<Pick<TokenOrder, "boundTo">> {
  if (ref === undefined) return {};
  const { kind = "", name = "", uid: wanted = "" } = ref;
  if (name === "") throw wrong("spec.boundObjectRef.name", "FieldValueRequired", "Required value");
  const object = await boundFrom(store, kind, namespace, name);
  const { uid = "" } = object.metadata;
  if (wanted !== "" && wanted !== uid) {
    const why = `the UID in the bound object reference (${wanted}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ group: "", plural: `${kind.toLowerCase()}s` }, name, why);
  }
  const runsAs = kind === "Pod" ? ((object as Pod).spec?.serviceAccountName ?? "") : account;
  if (runsAs !== account) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
    );
  }
  return { boundTo: { kind: kind as "Pod" | "Secret" | "Node", name, uid } };
}

function boundFrom(store: Api["store"], kind: string, namespace: string, name: string): Promise<KubeObject> {
  switch (kind) {
    case "Pod":
      return store.get<KubeObject>(Pods as Resource<KubeObject>, { namespace, name });
    case "Secret":
      return store.get<KubeObject>(Secrets as Resource<KubeObject>, { namespace, name });
    case "Node":
      return store.get<KubeObject>(Nodes as Resource<KubeObject>, { name });
    default:
      throw wrong(
        "spec.boundObjectRef.kind",
        "FieldValueInvalid",
        `Invalid value: ${JSON.stringify(kind)}: cannot bind token to object of this kind: use Pod, Secret or Node`,
      );
  }
}
