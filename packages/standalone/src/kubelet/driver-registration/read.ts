import type { RegistrationContext } from "./context.ts";
import type { RegisteredDriver } from "./records.ts";

/** A registration socket, as the folder has it, and as the records do. */
export interface SocketView {
  /** File name. */
  socket: string;
  /** What tells it from an earlier one of that name; undefined: it is not there. */
  found: string | undefined;
  registered: RegisteredDriver | undefined;
}

/** Undefined: neither the folder nor the records have it. */
export function readSocket(
  { found, records }: Pick<RegistrationContext, "found" | "records">,
  socket: string,
): SocketView | undefined {
  const view = { socket, found: found().get(socket), registered: records.get(socket) };
  return view.found === undefined && view.registered === undefined ? undefined : view;
}
