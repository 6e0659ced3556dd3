import { defineResource, type KubeObject, type ObjectStore } from "@mooring/store";
import type { IssueToken } from "./tokens.ts";

interface TokenRequest extends KubeObject {
  spec: { audiences: readonly string[]; expirationSeconds: number; boundObjectRef: object };
  status?: { token?: string; expirationTimestamp?: string };
}

/** Tokens that an API server elsewhere signs: authentication.k8s.io/v1 TokenRequest, a create below the account. */
export function requestToken(store: ObjectStore): IssueToken {
  return async ({ namespace, account, audiences, seconds, boundTo }) => {
    const { name } = account;
    const requests = defineResource<TokenRequest>({
      group: "",
      version: "v1",
      kind: "TokenRequest",
      plural: `serviceaccounts/${name}/token`,
      namespaced: true,
    });
    const { status } = await store.create(requests, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: { name, namespace },
      spec: { audiences, expirationSeconds: seconds, boundObjectRef: { apiVersion: "v1", ...boundTo } },
    });
    const { token, expirationTimestamp } = status ?? {};
    if (token === undefined || expirationTimestamp === undefined)
      throw new Error(`the API server signed no token for serviceaccount "${name}"`);
    return { token, expires: new Date(expirationTimestamp) };
  };
}
