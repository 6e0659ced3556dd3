import { DONE, defined, hasFinalizer, isDeleting, type KubeObject, type Outcome, wait } from "@mooring/store";
import { TemplateError } from "../secrets/references.ts";
import type { ContentKind, ContentStep, ContentTypes, ContentView } from "./kind.ts";

/** The next step for one content: what the csi-snapshotter next to the driver does. Pure. */
export function decideContent<T extends ContentTypes>(
  kind: ContentKind<T>,
  view: ContentView<T>,
): ContentStep<T> | Outcome {
  const { result, content } = view;
  if (content?.spec.driver !== view.driver || kind.isForeign?.(content)) return DONE;
  if (result?.kind === "data") {
    const fault = kind.fault?.(content, result.data);
    return { do: "write-status", data: result.data, ...defined({ fault }) };
  }
  if (isDeleting(content)) return decideDeletion(kind, view, content);
  if (!hasFinalizer(content, kind.names.finalizer)) return { do: "add-finalizer" };
  return kind.isMade(content) ? decideMade(kind, view, content) : decideImported(kind, view, content);
}

function decideMade<T extends ContentTypes>(
  kind: ContentKind<T>,
  view: ContentView<T>,
  content: T["content"],
): ContentStep<T> | Outcome {
  const marked = isMarked(content, kind.names.beingCreated);
  const known = kind.handle(content) !== undefined;
  if (marked && (known ? kind.markStays !== true : isSettled(kind, view)))
    return { do: "clear-being-created" };
  if (kind.isComplete(content)) return DONE;
  if (view.backoffMs > 0) return wait(view.backoffMs);
  if (known && kind.canInspect(content)) return inspection(kind, view, content);
  const step = creation(kind, view, content, kind.names.reasons.creation);
  // With the handle on record a repetition only asks: it cannot make anything.
  return step.do === "create-data" && !marked && !known ? { do: "mark-being-created" } : step;
}

function decideImported<T extends ContentTypes>(
  kind: ContentKind<T>,
  view: ContentView<T>,
  content: T["content"],
): ContentStep<T> | Outcome {
  if (kind.handle(content) === undefined || kind.isComplete(content)) return DONE;
  return view.backoffMs > 0 ? wait(view.backoffMs) : inspection(kind, view, content);
}

/**
 * The driver deletes data only when the snapshot is being deleted, or when the content never was bound. While a create
 * call is uncertain it is repeated first: only its result shows what there is to delete.
 */
function decideDeletion<T extends ContentTypes>(
  kind: ContentKind<T>,
  view: ContentView<T>,
  content: T["content"],
): ContentStep<T> | Outcome {
  const { result, backoffMs } = view;
  const { beingCreated, beingDeleted, finalizer, reasons } = kind.names;
  const handle = kind.handle(content);
  const isMade = kind.isMade(content);
  const known = handle !== undefined;
  if (isMarked(content, beingCreated) && isMade && !(known && kind.markStays === true)) {
    if (known || isSettled(kind, view)) return { do: "clear-being-created" };
    return backoffMs > 0 ? wait(backoffMs) : creation(kind, view, content, reasons.deletion);
  }
  const neverBound = !isMade && !kind.ref(content).uid;
  if (!neverBound && !isMarked(content, beingDeleted)) return DONE;
  if (content.spec.deletionPolicy === "Delete" && known && result?.kind !== "removed") {
    if (backoffMs > 0) return wait(backoffMs);
    // A driver is not asked to delete a group without members: it first returns which ones there are.
    return isMade && kind.lacksMembers?.(content)
      ? creation(kind, view, content, reasons.deletion)
      : { do: "delete-data", target: kind.deleteTarget(content, handle) };
  }
  return hasFinalizer(content, finalizer) ? { do: "release" } : DONE;
}

/** The create call, the first time or again; or the report of what keeps us from making it. */
function creation<T extends ContentTypes>(
  kind: ContentKind<T>,
  { contentClass, namePrefix }: ContentView<T>,
  content: T["content"],
  reason: string,
): ContentStep<T> {
  const name = `${namePrefix}-${kind.ref(content).uid}`;
  const frozen = content.metadata.annotations?.[kind.names.frozenParameters];
  if (frozen !== undefined)
    return { do: "create-data", request: kind.request(content, name, JSON.parse(frozen)) };
  if (contentClass === undefined) {
    const message = `${kind.names.className} ${kind.className(content) ?? ""} does not exist`;
    return { do: "report", reason, message };
  }
  return orReport(reason, () => {
    const parameters = kind.parameters(contentClass.parameters ?? {});
    return { do: "create-data", request: kind.request(content, name, parameters) };
  });
}

function inspection<T extends ContentTypes>(
  kind: ContentKind<T>,
  { contentClass }: ContentView<T>,
  content: T["content"],
): ContentStep<T> {
  return orReport(kind.names.reasons.inspection, () => ({
    do: "inspect-data",
    target: kind.inspectTarget(content, contentClass),
  }));
}

/** The step, or the report of a class whose parameters are not valid. */
function orReport<T extends ContentTypes>(reason: string, step: () => ContentStep<T>): ContentStep<T> {
  try {
    return step();
  } catch (error) {
    if (error instanceof TemplateError) return { do: "report", reason, message: error.message };
    throw error;
  }
}

const isMarked = ({ metadata }: KubeObject, annotation: string): boolean =>
  metadata.annotations?.[annotation] !== undefined;

const isSettled = <T extends ContentTypes>(
  kind: ContentKind<T>,
  { result, mayExist }: ContentView<T>,
): boolean => result?.kind === "failed" && kind.provesNothingMade(result.failure, mayExist);

/** The key of a back-off after a failure: the back-off ends early when this changes. */
export function contentRequestKey<T extends ContentTypes>(
  kind: ContentKind<T>,
  { content, contentClass }: ContentView<T>,
): string {
  if (content === undefined) return "";
  const { annotations, deletionTimestamp } = content.metadata;
  const { beingDeleted, frozenParameters } = kind.names;
  const parameters = annotations?.[frozenParameters] ?? contentClass?.parameters;
  const phase = [deletionTimestamp, isMarked(content, beingDeleted), kind.handle(content)];
  return JSON.stringify([content.spec, kind.secrets(content), parameters, phase]);
}
