import { defineResource, type KubeObject } from "@mooring/store";

/** Where the block maps of a driver's snapshots can be read; named like the driver. Its operator makes it. */
export interface SnapshotMetadataService extends KubeObject {
  spec: {
    /** Tokens have to be for it. */
    audience: string;
    /** `host:port` of the gRPC service, for its clients. */
    address: string;
    /** PEM in base64: by which clients know the service. */
    caCert: string;
  };
}

/** Served at `/apis/cbt.storage.k8s.io/v1beta1/snapshotmetadataservices`. */
export const SnapshotMetadataServices = defineResource<SnapshotMetadataService>({
  group: "cbt.storage.k8s.io",
  version: "v1beta1",
  kind: "SnapshotMetadataService",
  plural: "snapshotmetadataservices",
  namespaced: false,
});

/** Whom a token is of. */
export interface UserInfo {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

/** Asked of the API server by creating one (authentication.k8s.io/v1). */
export interface TokenReview extends KubeObject {
  spec: { token: string; audiences: string[] };
  status?: { authenticated?: boolean; audiences?: string[]; user?: UserInfo; error?: string };
}

/** Served at `/apis/authentication.k8s.io/v1/tokenreviews`. */
export const TokenReviews = defineResource<TokenReview>({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenReview",
  plural: "tokenreviews",
  namespaced: false,
});

/** Asked of the API server by creating one (authorization.k8s.io/v1). */
export interface SubjectAccessReview extends KubeObject {
  spec: {
    user: string;
    uid?: string;
    groups?: string[];
    extra?: Record<string, string[]>;
    resourceAttributes: {
      verb: string;
      group: string;
      version: string;
      resource: string;
      namespace: string;
      name: string;
    };
  };
  status?: { allowed?: boolean; denied?: boolean; reason?: string };
}

/** Served at `/apis/authorization.k8s.io/v1/subjectaccessreviews`. */
export const SubjectAccessReviews = defineResource<SubjectAccessReview>({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  namespaced: false,
});
