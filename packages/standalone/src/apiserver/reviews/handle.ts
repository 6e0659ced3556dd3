import { randomUUID } from "node:crypto";
import { badRequest, type UnstructuredObject } from "@mooring/store";
import type { Api } from "../api.ts";
import { VIRTUAL_KINDS } from "../discovery/virtual-kinds.ts";
import { negotiate } from "../http/accept.ts";
import { readBody } from "../http/body.ts";
import type { Call } from "../http/call.ts";
import { send } from "../http/respond.ts";
import { asObject } from "../resources/decode-object.ts";
import { methodNotAllowed, pathNotFound, type ResourcePath } from "../resources/target.ts";
import { selfSubjectReview, tokenReview } from "./authentication.ts";
import { accessReview, localAccessReview, rulesReview, selfAccessReview } from "./authorization.ts";

type Evaluate = (review: UnstructuredObject, call: Call, api: Api) => object | Promise<object>;

/** Status of each review, by kind. */
const REVIEWS: Readonly<Record<string, Evaluate>> = {
  SelfSubjectReview: selfSubjectReview,
  TokenReview: tokenReview,
  SelfSubjectAccessReview: selfAccessReview,
  SubjectAccessReview: accessReview,
  LocalSubjectAccessReview: localAccessReview,
  SelfSubjectRulesReview: rulesReview,
};

/** Serves the reviews, which are requested by creating an object; false when the path is something else. */
export async function handleReview(call: Call, api: Api, path: ResourcePath): Promise<boolean> {
  const kind = VIRTUAL_KINDS.find(
    ({ group, version, plural }) =>
      group === path.group && version === path.version && plural === path.plural,
  );
  const evaluate = kind === undefined ? undefined : REVIEWS[kind.kind];
  if (kind === undefined || evaluate === undefined) return false;
  if (path.name !== undefined || kind.namespaced !== (path.namespace !== undefined)) throw pathNotFound();
  if (call.method !== "POST") throw methodNotAllowed();
  const { format } = negotiate(call.request.headers.accept, ["Object"]);
  const body = await readBody(call);
  if (body === undefined) throw badRequest("unable to decode an empty request body");
  const expected = { apiVersion: `${kind.group}/${kind.version}`, kind: kind.kind, defaulted: true };
  const review = asObject(body.value, expected);
  const metadata = { ...review.metadata, uid: randomUUID(), creationTimestamp: null };
  await send(call, 201, { ...review, metadata, status: await evaluate(review, call, api) }, format);
  return true;
}
