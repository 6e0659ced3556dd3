import type { KubeObject, Resource } from "@mooring/store";
import { type Context, lastWarning, read } from "./context.ts";
import { type Finding, finding } from "./finding.ts";

interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
}
interface AnyStatus {
  conditions?: readonly Condition[];
  error?: { code?: string; message?: string };
  phase?: string;
  state?: string;
}

/** Conditions that are good when they are not True. */
const TROUBLE = /Pressure$|Unavailable$|Failed$|Error$|Degraded$|Full$|Held$|Low$|Fail$/;

const isBad = ({ type, status }: Condition): boolean =>
  TROUBLE.test(type) ? status === "True" : status === "False";
const textOf = ({ type, reason, message }: Condition): string =>
  `${type}: ${[reason, message].filter((part) => part !== undefined && part !== "").join(": ")}`;

/** An object of any kind: its error, its conditions, its finalizers when it is deleted, the last warning about it. */
export async function explainAny(
  context: Context,
  resource: Resource,
  key: { namespace: string; name: string },
): Promise<Finding> {
  const { namespace, name } = key;
  const place = resource.namespaced ? `-n ${namespace} ` : "";
  const kubectl = `kubectl describe ${resource.plural}${resource.group === "" ? "" : `.${resource.group}`} ${place}${name}`;
  const subject = `${resource.kind} ${resource.namespaced ? `${namespace}/` : ""}${name}`;
  const object = await read(context, resource, resource.namespaced ? key : { name });
  if (object === undefined) {
    const list = kubectl.replace("describe", "get").replace(` ${name}`, "");
    return finding("failed", subject, "does not exist", { next: list });
  }
  const status = ((object as KubeObject & { status?: AnyStatus }).status ?? {}) as AnyStatus;
  const { finalizers = [], deletionTimestamp } = object.metadata;
  const bad = (status.conditions ?? []).filter(isBad);
  const children = bad.slice(1).map((condition) => finding("waiting", subject, textOf(condition)));
  const next = kubectl;
  if (status.error !== undefined)
    return finding("failed", subject, `${status.error.code ?? "error"}: ${status.error.message}`, {
      children,
      next,
    });
  if (deletionTimestamp !== undefined) {
    const finalizersText = finalizers.length === 0 ? "nothing holds it" : `held by ${finalizers.join(", ")}`;
    return finding("waiting", subject, `is being deleted since ${deletionTimestamp}: ${finalizersText}`, {
      children,
      next,
    });
  }
  const [first] = bad;
  if (first !== undefined) return finding("waiting", subject, textOf(first), { children, next });
  const warning = await lastWarning(context, object);
  const where = status.phase ?? status.state;
  const fine = where ?? "exists, and has nothing to report";
  // A warning about something that is well is history: it is shown, and asks for nothing.
  const message =
    warning === undefined ? fine : `${fine} (last warning: ${warning.reason}: ${warning.message})`;
  return finding("ok", subject, message);
}
