import { DONE, type Outcome } from "@mooring/store";
import type { SocketView } from "./read.ts";

/** One step for a registration socket. */
export type DriverRegistrationStep =
  | { do: "register"; identity: string }
  /** `driver`: its name. */
  | { do: "unregister"; driver: string };

/** The kubelet asks a socket that was made anew again: another driver may be behind it, or the same with other abilities. */
export function decideSocket({ found, registered }: SocketView): DriverRegistrationStep | Outcome {
  if (found === undefined)
    return registered === undefined ? DONE : { do: "unregister", driver: registered.name };
  return registered?.identity === found ? DONE : { do: "register", identity: found };
}
