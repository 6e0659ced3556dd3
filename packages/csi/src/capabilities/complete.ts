import type { AnyHandlers, Services } from "../wire/handlers.ts";
import {
  addonsCapabilities,
  controllerCapabilities,
  type ExtraCapabilities,
  groupCapabilities,
  nodeCapabilities,
  pluginCapabilities,
} from "./derive.ts";

/** Binds the handlers of an object or class instance, so that methods keep their `this` when copied. */
function bound(handlers: object): AnyHandlers {
  const all: Record<string, unknown> = {};
  for (
    let at: object | null = handlers;
    at !== null && at !== Object.prototype;
    at = Object.getPrototypeOf(at)
  ) {
    for (const name of Object.getOwnPropertyNames(at)) {
      const value: unknown = Reflect.get(handlers, name);
      if (name !== "constructor" && typeof value === "function" && !(name in all))
        all[name] = value.bind(handlers);
    }
  }
  return all;
}

/**
 * The services as they are served: the Identity service is always there, methods that only report what the plugin can
 * do are filled in where they are missing, and the add-ons' identity announces the volume group service.
 */
export function complete(
  services: Services,
  extra: ExtraCapabilities,
): Record<keyof Services, AnyHandlers | undefined> {
  const { identity, controller, groupController, node, volumeGroup, addonsIdentity, snapshotMetadata } =
    services;
  const given = (handlers: object | undefined) => (handlers === undefined ? undefined : bound(handlers));
  const own = { controller: given(controller), node: given(node), groupController: given(groupController) };
  const identityHandlers: AnyHandlers = {
    getPluginCapabilities: () => pluginCapabilities(services, extra),
    probe: () => ({ ready: true }),
    ...given(identity),
  };
  return {
    identity: identityHandlers,
    controller: own.controller && {
      controllerGetCapabilities: () => controllerCapabilities(own.controller ?? {}, extra),
      ...own.controller,
    },
    groupController: own.groupController && {
      groupControllerGetCapabilities: () => groupCapabilities(own.groupController ?? {}),
      ...own.groupController,
    },
    node: own.node && {
      nodeGetCapabilities: () => nodeCapabilities(own.node ?? {}, extra),
      ...own.node,
    },
    snapshotMetadata: given(snapshotMetadata),
    volumeGroup: given(volumeGroup),
    addonsIdentity:
      volumeGroup === undefined && addonsIdentity === undefined
        ? undefined
        : {
            getCapabilities: () =>
              addonsCapabilities({ ...services, volumeGroup: given(volumeGroup) }, extra),
            getIdentity: identityHandlers.getPluginInfo,
            probe: identityHandlers.probe,
            ...given(addonsIdentity),
          },
  };
}
