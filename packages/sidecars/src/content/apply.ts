import { isDeleting } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { RESERVED_PARAMETERS } from "../common/names.ts";
import { rfc3339 } from "../common/time.ts";
import { patchMetadata, patchStatus } from "../kube/patch.ts";
import { readSecret, readSecretIfAny } from "../secrets/read.ts";
import type { ContentCalls } from "./calls.ts";
import { contentRequestKey } from "./decide.ts";
import type { ContentKind, ContentOptions, ContentStep, ContentTypes, ContentView } from "./kind.ts";

/** What the steps of all contents of a kind are made with. */
interface ContentWork<T extends ContentTypes> {
  kind: ContentKind<T>;
  context: SidecarContext;
  calls: ContentCalls<T>;
  options: ContentOptions;
}

/** Makes one externally visible change for a content. */
export async function applyContent<T extends ContentTypes>(
  work: ContentWork<T>,
  step: ContentStep<T>,
  view: ContentView<T>,
): Promise<void> {
  const { calls, context, kind } = work;
  const { content } = view;
  if (content === undefined) return;
  const { names } = kind;
  const uid = content.metadata.uid ?? "";
  const requestKey = contentRequestKey(kind, view);
  const change = (what: Parameters<typeof patchMetadata>[3]) =>
    patchMetadata(context.store, kind.cache(context.cluster), content, what);
  switch (step.do) {
    case "add-finalizer":
      await change({ addFinalizers: [names.finalizer] });
      return;
    case "mark-being-created":
      await change({ annotations: { [names.beingCreated]: "yes" } });
      calls.results.delete(uid);
      return;
    case "clear-being-created":
      await change({ annotations: { [names.beingCreated]: null } });
      calls.results.delete(uid);
      calls.uncertainty.settle(uid);
      return;
    case "create-data":
      return createData(work, content, step.request, requestKey);
    case "inspect-data":
      return calls.make(content, { requestKey, reason: names.reasons.inspection }, async () => {
        const secrets = await readSecret(context.store, step.target.secret);
        return { kind: "data", data: await kind.inspect(driverCall(work, secrets), step.target) };
      });
    case "write-status":
      return writeStatus(work, view, content, step);
    case "report":
      calls.backoff.fail(uid, requestKey);
      return calls.complain(content, step.reason, step.message);
    case "delete-data":
      return calls.make(content, { requestKey, reason: names.reasons.deletion }, async () => {
        const secrets = await readSecretIfAny(context.store, step.target.secret);
        await kind.remove(driverCall(work, secrets), step.target);
        kind.failpoints.dataDeleted();
        return { kind: "removed" };
      });
    case "release":
      await change({ removeFinalizers: [names.finalizer] });
      return;
  }
}

function driverCall<T extends ContentTypes>(
  { calls, context: { driver, now } }: ContentWork<T>,
  secrets: Record<string, string>,
) {
  return { client: driver.client, driver: driver.info, secrets, nowMs: now(), options: calls.options };
}

async function createData<T extends ContentTypes>(
  work: ContentWork<T>,
  content: T["content"],
  request: T["request"],
  requestKey: string,
): Promise<void> {
  const { calls, context, kind } = work;
  const parameters = { ...request.parameters, ...metadataParameters(work, content) };
  // What is being deleted is created once more only to learn its handle: a secret that is gone must not keep it.
  const read = isDeleting(content) ? readSecretIfAny : readSecret;
  calls.ask(content);
  await calls.make(content, { requestKey, reason: kind.names.reasons.creation }, async () => {
    const secrets = await read(context.store, request.secret);
    const data = await kind.create(driverCall(work, secrets), { ...request, parameters });
    kind.failpoints.created();
    return { kind: "data", data };
  });
}

function metadataParameters<T extends ContentTypes>(
  { kind, options }: ContentWork<T>,
  content: T["content"],
): Record<string, string> {
  if (!options.extraCreateMetadata) return {};
  const { name, namespace } = kind.ref(content);
  const prefix = `${RESERVED_PARAMETERS}${kind.names.metadata}`;
  return {
    [`${prefix}/name`]: name,
    [`${prefix}/namespace`]: namespace,
    [`${prefix}content/name`]: content.metadata.name,
  };
}

async function writeStatus<T extends ContentTypes>(
  { calls, context, kind }: ContentWork<T>,
  view: ContentView<T>,
  content: T["content"],
  { data, fault }: { data: T["data"]; fault?: string },
): Promise<void> {
  const { cluster, events, now, store } = context;
  const uid = content.metadata.uid ?? "";
  const error = fault === undefined ? null : { message: fault, time: rfc3339(now()) };
  const status = { ...kind.status(content, data, fault), error };
  const left = await patchStatus(store, kind.cache(cluster), content, status);
  calls.results.delete(uid);
  if (fault !== undefined) {
    calls.backoff.fail(uid, contentRequestKey(kind, { ...view, content: left }));
    events.event(content, "Warning", kind.names.reasons.inspection, fault);
    return;
  }
  calls.backoff.reset(uid);
  calls.uncertainty.settle(uid);
  // What is not ready is asked about less and less often, but never as rarely as what fails.
  if (kind.isReady(data)) calls.finished(uid);
  else calls.polls.fail(uid, kind.handle(left) ?? "");
}
