import { StatusError } from "@mooring/store";
import type { Call, User } from "../http/call.ts";

/** What anybody may read, as the `system:public-info-viewer` role of Kubernetes allows. */
const PUBLIC = /^\/(healthz|livez|readyz|version)(\/|$)/;

export function mayReadPath(user: User, method: string, path: string): boolean {
  if (isAdmin(user)) return true;
  return (method === "GET" || method === "HEAD") && PUBLIC.test(path);
}

export const isAdmin = (user: User) => user.groups.includes("system:masters");

/** Throws Forbidden (403) in the words of Kubernetes. */
export function authorize(call: Call): void {
  if (mayReadPath(call.user, call.method, call.path)) return;
  const verb = call.method === "GET" ? "get" : call.method.toLowerCase();
  const message = `forbidden: User ${JSON.stringify(call.user.username)} cannot ${verb} path ${JSON.stringify(call.path)}`;
  throw new StatusError("Forbidden", message);
}
