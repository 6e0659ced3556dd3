import * as v0 from "../gen/csi/v0/csi_pb.ts";
import * as v1 from "../gen/csi/v1/csi_pb.ts";
import * as addons from "../gen/identity/identity_pb.ts";
import * as volumegroup from "../gen/volumegroup/volumegroup_pb.ts";

/** Every service that this package has, by the name it has in `createServer` and on a client. */
export const services = {
  identity: v1.Identity,
  controller: v1.Controller,
  groupController: v1.GroupController,
  snapshotMetadata: v1.SnapshotMetadata,
  node: v1.Node,
  volumeGroup: volumegroup.Controller,
  addonsIdentity: addons.Identity,
} as const;

/** The services of csi.v0, which share a socket with those of csi.v1. */
export const servicesV0 = {
  identity: v0.Identity,
  controller: v0.Controller,
  node: v0.Node,
} as const;

/** `identity`, `controller`, `node`, ... */
export type ServiceName = keyof typeof services;
