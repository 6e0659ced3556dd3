import { groupResource, type Resource } from "./resource.ts";
import { type StatusCause, StatusError } from "./status-error.ts";

type Coordinates = Pick<Resource, "group" | "plural">;

/** `persistentvolumeclaims "x" not found`. */
export function notFound(resource: Coordinates, name: string): StatusError {
  return new StatusError("NotFound", `${groupResource(resource)} "${name}" not found`, about(resource, name));
}

/** The collection itself is not served: an unknown group, version or kind. */
export function unknownResource(resource: Coordinates): StatusError {
  return new StatusError("NotFound", "the server could not find the requested resource", {
    ...(resource.group === "" ? {} : { group: resource.group }),
    kind: resource.plural,
  });
}

/** AlreadyExists (409): the name is taken. */
export function alreadyExists(resource: Coordinates, name: string): StatusError {
  const message = `${groupResource(resource)} "${name}" already exists`;
  return new StatusError("AlreadyExists", message, about(resource, name));
}

/** The message with which Kubernetes refuses a write of an outdated version. */
export const MODIFIED =
  "the object has been modified; please apply your changes to the latest version and try again";

/** The object is not in the state that the request demanded; `why` defaults to "has been modified". */
export function conflict(resource: Coordinates, name: string, why: string = MODIFIED): StatusError {
  const message = `Operation cannot be fulfilled on ${groupResource(resource)} "${name}": ${why}`;
  return new StatusError("Conflict", message, about(resource, name));
}

/** Fields are wrong; `causes` name each of them. */
export function invalid(
  resource: Pick<Resource, "group" | "kind">,
  name: string,
  causes: StatusCause[],
): StatusError {
  const kind = resource.group === "" ? resource.kind : `${resource.kind}.${resource.group}`;
  const lines = causes.map((cause) => (cause.field ? `${cause.field}: ${cause.message}` : cause.message));
  const list = lines.length === 1 ? lines[0] : `[${lines.join(", ")}]`;
  return new StatusError("Invalid", `${kind} "${name}" is invalid: ${list}`, {
    name,
    ...(resource.group === "" ? {} : { group: resource.group }),
    kind: resource.kind,
    causes,
  });
}

/** BadRequest (400): the request itself makes no sense. */
export function badRequest(message: string): StatusError {
  return new StatusError("BadRequest", message);
}

/** Forbidden (403): the caller must not do that, for the reason `why`. */
export function forbidden(resource: Coordinates, name: string, why: string): StatusError {
  const message = `${groupResource(resource)} "${name}" is forbidden: ${why}`;
  return new StatusError("Forbidden", message, about(resource, name));
}

/** The namespace is on its way out: nothing new may come in. */
export function namespaceTerminating(
  resource: Coordinates,
  { namespace = "", name }: { namespace?: string; name: string },
): StatusError {
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const { reason, message, details } = forbidden(resource, name, why);
  const cause = {
    reason: "NamespaceTerminating",
    message: `namespace ${namespace} is being terminated`,
    field: "metadata.namespace",
  };
  return new StatusError(reason, message, { ...details, causes: [cause] });
}

/** InsufficientStorage (507): the disk below the server is full, and `why` says what to do. */
export function insufficientStorage(why: string): StatusError {
  return new StatusError("InsufficientStorage", `the write was not stored: ${why}`);
}

/** The disk takes no write at all. */
export function notWritable(why: string): StatusError {
  return new StatusError("InternalError", `Internal error occurred: the write was not stored: ${why}`);
}

/** The revision has left the history: list again. */
export function expired(requested: number, oldest: number): StatusError {
  return new StatusError("Expired", `too old resource version: ${requested} (${oldest})`);
}

/** The revision does not exist yet; clients of another store's past get this, too. */
export function tooLarge(requested: number, current: number): StatusError {
  return new StatusError("Timeout", `Too large resource version: ${requested}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });
}

function about(resource: Coordinates, name: string): { name: string; group?: string; kind: string } {
  return { name, ...(resource.group === "" ? {} : { group: resource.group }), kind: resource.plural };
}
