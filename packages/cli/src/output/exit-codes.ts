/** What the process ends with. Scripts may rely on these numbers; docs/reference/commands.md lists them. */
export const EXIT = {
  ok: 0,
  /** The command ran and its result is no: a proof failed, a leak was found, an object waits or failed. */
  negative: 1,
  /** Wrong arguments, or the machine lacks something the command needs. */
  usage: 2,
  /** Another process has the state folder, the socket, the address or the node. */
  busy: 3,
  /** The API server cannot be reached, cannot respond, or does not let this user do it. */
  unreachable: 4,
  /** An error that we did not foresee; please report it. */
  internal: 70,
  /** The operator has stopped it before its end. */
  interrupted: 130,
} as const;
