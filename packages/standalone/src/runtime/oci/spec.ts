import { defined } from "@mooring/store";
import type { ContainerConfig, ContainerMount } from "../runtime.ts";
import { ownCapabilities } from "./capabilities.ts";
import { MASKED_PATHS, type OciMount, READ_ONLY_PATHS, systemMounts, volumeMount } from "./mounts.ts";
import { type OciResources, resourcesOf } from "./resources.ts";
import { runtimeDefault, type SeccompProfile } from "./seccomp.ts";

/** What the runtime adds to a container's own configuration. */
export interface Sandbox {
  /** The machine's root file systems, without what is mounted on them; or the container's own, of its image. */
  root: string;
  /** Those of the machine's system folders that are file systems of their own, mounted below `root`. */
  layers: readonly string[];
  /** Mounts that take away what no container may see. */
  hidden: readonly OciMount[];
  /** Host files that links in the root point to outside of it, such as the real /etc/resolv.conf. */
  extra: readonly ContainerMount[];
  /** Path of the control group below the root of each hierarchy. */
  cgroup: string;
  /** The version 2 hierarchy is the only one. */
  unified: boolean;
  /** Of the block devices that the container gets: `{ major: 7, minor: 3 }`. */
  devices: readonly { major: number; minor: number }[];
}

/** `process` of a bundle, and what `runc exec --process` takes. */
export interface OciProcess {
  terminal: boolean;
  user: { uid: number; gid: number; additionalGids: readonly number[] };
  args: readonly string[];
  env: readonly string[];
  cwd: string;
  capabilities: Readonly<Record<"bounding" | "effective" | "permitted", readonly string[]>>;
  noNewPrivileges: boolean;
  apparmorProfile?: string;
}

interface IdMapping {
  containerID: number;
  hostID: number;
  size: number;
}

/** `config.json` of a bundle, as far as we fill it in (OCI runtime specification 1.0). */
export interface OciSpec {
  ociVersion: string;
  process: OciProcess;
  root: { path: string; readonly: boolean };
  hostname: string;
  mounts: OciMount[];
  linux: {
    namespaces: { type: string }[];
    uidMappings?: IdMapping[];
    gidMappings?: IdMapping[];
    cgroupsPath: string;
    resources: OciResources;
    maskedPaths: readonly string[];
    readonlyPaths: readonly string[];
    seccomp?: SeccompProfile;
  };
}

/** Everything about a container as runc wants to know it. Users are numbers: no file of the container is asked who they are. */
export function ociSpec(config: ContainerConfig, sandbox: Sandbox): OciSpec {
  const layers = sandbox.layers.map((layer) => ({ source: `${sandbox.root}${layer}`, target: layer }));
  return {
    ociVersion: "1.0.2",
    process: processOf(config),
    root: { path: sandbox.root, readonly: config.image?.readOnly ?? true },
    hostname: config.hostname,
    mounts: [
      ...byDepth(layers.map((layer) => ({ ...layer, readOnly: true }))).map(volumeMount),
      ...systemMounts(config),
      ...sandbox.hidden,
      ...byDepth([
        ...sandbox.extra,
        ...config.mounts,
        ...config.devices.map((device) => ({ ...device, readOnly: false })),
      ]).map(volumeMount),
    ],
    linux: {
      // The machine's network is the pods' network.
      namespaces: [
        ...["mount", "pid", "ipc", "uts"],
        ...(sandbox.unified ? ["cgroup"] : []),
        ...(config.users === undefined ? [] : ["user"]),
      ].map((type) => ({ type })),
      ...mappingsOf(config),
      cgroupsPath: sandbox.cgroup,
      resources: resourcesOf(config.resources ?? {}, sandbox.devices),
      maskedPaths: MASKED_PATHS,
      readonlyPaths: READ_ONLY_PATHS,
      ...(config.seccomp === "unconfined" ? {} : { seccomp: runtimeDefault(capabilitiesOf(config)) }),
    },
  };
}

function mappingsOf({ users }: ContainerConfig): Pick<OciSpec["linux"], "uidMappings" | "gidMappings"> {
  if (users === undefined) return {};
  const mapping = [{ containerID: 0, hostID: users.first, size: users.size }];
  return { uidMappings: mapping, gidMappings: mapping };
}

function capabilitiesOf({ capabilities = ownCapabilities() }: ContainerConfig): readonly string[] {
  return capabilities;
}

function processOf(config: ContainerConfig): OciProcess {
  const { uid, gid, groups } = config.user;
  const capabilities = capabilitiesOf(config).map((name) => `CAP_${name}`);
  return {
    terminal: false,
    user: { uid, gid, additionalGids: groups },
    args: config.argv,
    env: Object.entries(config.env).map(([name, value]) => `${name}=${value}`),
    cwd: config.workingDir ?? "/",
    // None that a program would inherit or keep: who is not root has those of its files only.
    capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
    noNewPrivileges: config.noNewPrivileges === true,
    ...defined({ apparmorProfile: config.appArmor }),
  };
}

/** Outer mounts first: a later mount on a parent folder would cover them. */
function byDepth(mounts: readonly ContainerMount[]): ContainerMount[] {
  const depth = (mount: ContainerMount) => mount.target.split("/").filter(Boolean).length;
  return [...mounts].sort((a, b) => depth(a) - depth(b));
}
