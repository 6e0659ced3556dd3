import { openChannel, serviceClient } from "../client/connect.ts";
import { Registration } from "../gen/pluginregistration/v1/api_pb.ts";
import type { ServiceClient } from "../wire/method-types.ts";

/** What a plugin serves for the kubelet: what it is, and whether the kubelet took it. */
export type RegistrationClient = ServiceClient<typeof Registration> & {
  /** Ends the connection; calls under way fail with UNAVAILABLE. */
  close(): void;
};

/**
 * The kubelet's side of `serveRegistration`: a client of the socket `endpoint` (`unix:///path`) in a folder `plugins_registry`.
 * A call takes at most `timeoutMs`, and is made once. Close it when done.
 */
export function connectRegistration(
  endpoint: string,
  { timeoutMs }: { timeoutMs: number },
): RegistrationClient {
  const channel = openChannel(endpoint);
  const calls = serviceClient(channel, Registration, { timeoutMs }) as ServiceClient<typeof Registration>;
  return { ...calls, close: () => channel.close() };
}
