import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { StatusError } from "@mooring/store";
import type { OpenApiDocuments } from "../../kinds/kind-info.ts";
import type { Api } from "../api.ts";
import { type MediaRange, parseAccept } from "../http/accept.ts";
import type { Call } from "../http/call.ts";
import { send, sendBytes } from "../http/respond.ts";
import { pathNotFound } from "../resources/target.ts";

const isJson = ({ type, parameters }: MediaRange) =>
  parameters.as === undefined && /^(\*\/\*|application\/(\*|json))$/.test(type);

function requireJson(call: Call): void {
  if (parseAccept(call.request.headers.accept).some(isJson)) return;
  throw new StatusError("NotAcceptable", "only the following media types are accepted: application/json");
}

const hashes = new WeakMap<object, { text: string; hash: string }>();

/** Documents are the same objects while nothing changes, so each is written and hashed once. */
function encoded(document: object): { text: string; hash: string } {
  let entry = hashes.get(document);
  if (entry === undefined) {
    const text = JSON.stringify(document);
    entry = { text, hash: createHash("sha512").update(text).digest("hex").toUpperCase() };
    hashes.set(document, entry);
  }
  return entry;
}

/** How client-go asks for the old document: a message that only it and generators of it know. */
const PROTOBUF = /^application\/com\.github\.proto-openapi\.spec\.v2[@.]v1\.0\+protobuf$/;
/** As it may be sent in a response: the `@` that clients send is no part of a media type. */
const PROTOBUF_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/** That message with nothing but `swagger: "2.0"`. Clients take it to know no kind, and go on without it. */
const NOTHING_DECLARED = Buffer.from([0x0a, 3, ...Buffer.from("2.0")]);

/** `/openapi/v2`, `/openapi/v3` and `/openapi/v3/PATH`. */
export async function handleOpenApi(call: Call, { openapi }: Api): Promise<void> {
  const [, version, ...rest] = call.segments;
  const ranges = parseAccept(call.request.headers.accept);
  const protobuf = ranges.some(({ type }) => PROTOBUF.test(type)) && !ranges.some(isJson);
  if (version === "v2" && rest.length === 0 && protobuf) {
    return sendBytes(call, 200, NOTHING_DECLARED, PROTOBUF_TYPE);
  }
  requireJson(call);
  if (version === "v2" && rest.length === 0) return sendDocument(call, await openapi.v2());
  if (version !== "v3") throw pathNotFound();
  if (rest.length === 0) return send(call, 200, await index(openapi));
  const document = openapi.v3(rest.join("/"));
  if (document === undefined) throw pathNotFound();
  return sendVersioned(call, document);
}

/** The hash of every document, which is made for it: one in a turn of the event loop. */
async function index(openapi: OpenApiDocuments): Promise<object> {
  const paths: Record<string, object> = {};
  for (const path of openapi.v3Paths()) {
    const document = openapi.v3(path);
    if (document === undefined) continue;
    paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${encoded(document).hash}` };
    await nextTurn();
  }
  return { paths };
}

/** A request that names the hash may be cached for good; one with an old hash is sent to the new one. */
async function sendVersioned(call: Call, document: object): Promise<void> {
  const { hash } = encoded(document);
  const wanted = call.query.get("hash");
  if (wanted !== null && wanted !== hash) {
    call.response.writeHead(301, { Location: `${call.path}?hash=${hash}` }).end();
    return;
  }
  if (wanted !== null) {
    call.response.setHeader("Cache-Control", "public, immutable");
    call.response.setHeader("Expires", new Date(Date.now() + 365 * 24 * 3600_000).toUTCString());
  }
  await sendDocument(call, document);
}

async function sendDocument(call: Call, document: object): Promise<void> {
  const { text, hash } = encoded(document);
  const etag = `"${hash}"`;
  call.response.setHeader("ETag", etag);
  if (call.request.headers["if-none-match"] === etag) {
    call.response.writeHead(304).end();
    return;
  }
  await sendBytes(call, 200, Buffer.from(text), "application/json");
}
