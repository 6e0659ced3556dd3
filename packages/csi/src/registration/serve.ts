import { Registration } from "../gen/pluginregistration/v1/api_pb.ts";
import { type Logger, silentLogger } from "../log/logger.ts";
import { addService } from "../server/adapter.ts";
import { type CsiServer, onSocket } from "../server/on-socket.ts";
import { route } from "../server/route.ts";
import { socketPath } from "../sockets/endpoint.ts";
import type { Handlers } from "../wire/method-types.ts";

/** What the kubelet reads of a driver, and where. */
export interface RegistrationOptions {
  /** The socket that the kubelet finds, in its folder `plugins_registry`: `unix:///var/lib/kubelet/plugins_registry/...` */
  endpoint: string;
  /** Name of the driver, as its GetPluginInfo returns it. */
  driver: string;
  /** Path of the driver's own socket, as the kubelet sees it; no scheme. */
  driverSocket: string;
  /** Called each time the kubelet has accepted the driver, or has refused it and why. */
  onStatus?: (registered: boolean, error: string) => void;
  logger?: Logger;
  /** Of CSI, as it announces them; default 1.0.0, by which the kubelet takes drivers of CSI 1.x. */
  versions?: string[];
}

/**
 * Makes a CSI driver known to the kubelet of this node: serves `pluginregistration.Registration` on a socket in the kubelet's
 * folder. Start it when the driver's own socket accepts calls: the kubelet calls it at once. It does so again whenever the socket
 * is made anew, and after its own restart.
 */
export function serveRegistration(options: RegistrationOptions): CsiServer {
  const {
    driver: name,
    driverSocket: endpoint,
    logger = silentLogger,
    onStatus,
    versions = ["1.0.0"],
  } = options;
  const handlers: Handlers<typeof Registration> = {
    getInfo: () => ({ type: "CSIPlugin", name, endpoint, supportedVersions: versions }),
    notifyRegistrationStatus: ({ pluginRegistered, error }) => {
      if (pluginRegistered) logger.info({ driver: name }, "the kubelet has registered the driver");
      else logger.error({ driver: name, why: error }, "the kubelet has refused the driver");
      onStatus?.(pluginRegistered, error);
      return {};
    },
  };
  const next = route(new Map([[Registration, handlers]]));
  return onSocket(socketPath(options.endpoint), (server) =>
    addService(server, Registration, { nextOf: () => next, logger, observe: undefined }),
  );
}
