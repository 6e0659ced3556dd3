import assert from "node:assert/strict";
import { open } from "node:fs/promises";
import {
  type CodeName,
  CsiError,
  connectSnapshotMetadata,
  type SnapshotMetadataClient,
  type snapshotmetadata,
} from "@mooring/csi";
import { eventually } from "@mooring/store/testing";

const NAMESPACE = "block-maps";
const AUDIENCE = "block-maps.example.com";
const SIZE = 64 * 1024 * 1024;
const PAGE = 4096;

/** A cluster with the class `block` for volumes and `snaps` for their snapshots, and a service of block maps. */
export interface Cluster {
  kubectl(...args: string[]): Promise<string>;
  apply(manifest: string): Promise<void>;
  driver: string;
  /** `host:port` of the service. */
  address: string;
  /** PEM. */
  ca: string;
  /** A PEM that the service is not known by. */
  otherCa: string;
  /** The image of a volume, by its handle. */
  image(handle: string): string;
}

type Messages = AsyncIterable<
  snapshotmetadata.GetMetadataAllocatedResponse | snapshotmetadata.GetMetadataDeltaResponse
>;

/** What of a request is not as usual. */
type Changes = Partial<
  Pick<
    snapshotmetadata.GetMetadataAllocatedRequest,
    "securityToken" | "namespace" | "startingOffset" | "maxResults"
  >
>;

const pages = (...list: number[]) => list.map((page) => [page * PAGE, PAGE]);

/** What a backup program does, and what it must not get. */
export class BackupProgram {
  readonly cluster: Cluster;
  readonly client: SnapshotMetadataClient;
  #token = "";

  constructor(cluster: Cluster) {
    this.cluster = cluster;
    this.client = connectSnapshotMetadata(cluster.address, cluster.ca);
  }

  /** Two snapshots of a volume, written before and between them; and who may read them. */
  async prepare(): Promise<void> {
    const { cluster } = this;
    await cluster.apply(accounts(cluster));
    await cluster.apply(claim("data"));
    const handle = await this.#shown("pv", await this.#bound("data"), "{.spec.csi.volumeHandle}");
    await write(cluster.image(handle), 3, 5, 9);
    await cluster.apply(snapshot("first", "data"));
    await this.#ready("first");
    await write(cluster.image(handle), 5, 100);
    await cluster.apply(snapshot("second", "data"));
    await this.#ready("second");
    this.#token = await this.token("reader", AUDIENCE);
  }

  /** A token of this service account. */
  async token(account: string, ...audiences: string[]): Promise<string> {
    const asked = audiences.map((audience) => `--audience=${audience}`);
    const printed = await this.cluster.kubectl("create", "token", account, "-n", NAMESPACE, ...asked);
    return printed.trim();
  }

  allocated(snapshotName: string, more: Changes = {}): Messages {
    const asked = { securityToken: this.#token, namespace: NAMESPACE, snapshotName };
    return this.client.getMetadataAllocated({ ...asked, ...more });
  }

  delta(baseSnapshotId: string, targetSnapshotName: string): Messages {
    const asked = { securityToken: this.#token, namespace: NAMESPACE, targetSnapshotName };
    return this.client.getMetadataDelta({ ...asked, baseSnapshotId });
  }

  /** Allocated and changed ranges, in pieces and from the middle. */
  async reads(): Promise<void> {
    assert.deepEqual(await read(this.allocated("first")), pages(3, 5, 9));
    assert.deepEqual(await read(this.allocated("second")), pages(3, 5, 9, 100));
    const base = await this.#handle("first");
    assert.deepEqual(await read(this.delta(base, "second")), pages(5, 100));
    const rest = this.allocated("second", { startingOffset: BigInt(6 * PAGE), maxResults: 1 });
    assert.deepEqual(await read(rest, 1), pages(9, 100));
  }

  /** Every refusal that has a code of its own. */
  async refusals(): Promise<void> {
    const { cluster } = this;
    await cluster.apply(claim("unbound", "no-such-class") + snapshot("unready", "unbound"));
    await cluster.apply(content("foreign", "other.example.com", "foreign"));
    await cluster.apply(snapshotOf("foreign", "foreign") + snapshotOf("stolen", "missing"));
    const first = await cluster.kubectl(
      "get",
      "volumesnapshot",
      "first",
      "-n",
      NAMESPACE,
      "-o",
      "jsonpath={.status}",
    );
    const status = JSON.parse(first) as object;
    await this.#setStatus("foreign", { ...status, boundVolumeSnapshotContentName: "foreign" });
    await this.#setStatus("stolen", status);
    const { uid } = JSON.parse(
      await cluster.kubectl(
        "get",
        "volumesnapshot",
        "foreign",
        "-n",
        NAMESPACE,
        "-o",
        "jsonpath={.metadata}",
      ),
    ) as { uid: string };
    await cluster.kubectl(
      ...["patch", "volumesnapshotcontent", "foreign", "--type=merge", "-p"],
      JSON.stringify({ spec: { volumeSnapshotRef: { uid } } }),
    );
    await cluster.kubectl(
      ...["patch", "volumesnapshotcontent", "foreign", "--subresource=status", "--type=merge", "-p"],
      JSON.stringify({ status: { readyToUse: true, snapshotHandle: "there" } }),
    );
    const rows: [string, CodeName, RegExp, Messages][] = [
      ["no token", "INVALID_ARGUMENT", /security_token/, this.allocated("first", { securityToken: "" })],
      ["no namespace", "INVALID_ARGUMENT", /namespace/, this.allocated("first", { namespace: "" })],
      ["no name", "INVALID_ARGUMENT", /snapshot_name/, this.allocated("")],
      ["no base", "INVALID_ARGUMENT", /base_snapshot_id/, this.delta("", "second")],
      [
        "no token at all",
        "UNAUTHENTICATED",
        /no valid token/,
        this.allocated("first", { securityToken: "x.y.z" }),
      ],
      ["another audience", "UNAUTHENTICATED", /audience/, await this.#as("reader", "elsewhere")],
      ["the API server's audience", "UNAUTHENTICATED", /audience/, await this.#as("reader")],
      ["nobody's right", "PERMISSION_DENIED", /outsider may not get/, await this.#as("outsider", AUDIENCE)],
      [
        "another namespace",
        "PERMISSION_DENIED",
        /default\/first/,
        this.allocated("first", { namespace: "default" }),
      ],
      ["not there", "NOT_FOUND", /does not exist/, this.allocated("absent")],
      ["not ready", "UNAVAILABLE", /not ready/, this.allocated("unready")],
      ["another driver's", "INVALID_ARGUMENT", /other\.example\.com/, this.allocated("foreign")],
      ["another's content", "FAILED_PRECONDITION", /not bound to it/, this.allocated("stolen")],
      ["what the driver refuses", "NOT_FOUND", /s-unknown/, this.delta("s-unknown", "second")],
      [
        "beyond the end",
        "OUT_OF_RANGE",
        /not within/,
        this.allocated("first", { startingOffset: BigInt(2 * SIZE) }),
      ],
    ];
    for (const [what, code, message, messages] of rows) {
      const error = await refusal(messages, what);
      assert.equal(error.codeName, code, `${what}: ${error.message}`);
      assert.match(error.message, message, what);
    }
    const outsider = connectSnapshotMetadata(cluster.address, cluster.otherCa);
    const asked = { securityToken: this.#token, namespace: NAMESPACE, snapshotName: "first" };
    const unknown = await refusal(outsider.getMetadataAllocated(asked), "by another authority");
    assert.equal(unknown.codeName, "UNAVAILABLE");
    outsider.close();
  }

  /** A token lives no longer than its account. */
  async revoked(): Promise<void> {
    await this.cluster.kubectl("delete", "serviceaccount", "reader", "-n", NAMESPACE);
    await eventually("the token to be refused", async () => {
      const error = await read(this.allocated("first")).catch((thrown: unknown) => thrown);
      return error instanceof CsiError && error.codeName === "UNAUTHENTICATED";
    });
  }

  /** Takes away what {@link prepare} and {@link refusals} have made. */
  async end(): Promise<void> {
    this.client.close();
    const { kubectl } = this.cluster;
    await kubectl("delete", "volumesnapshot", "--all", "-n", NAMESPACE, "--timeout=120s");
    await kubectl("delete", "pvc", "--all", "-n", NAMESPACE, "--timeout=120s");
    await kubectl("delete", "volumesnapshotcontent", "foreign", "--ignore-not-found", "--timeout=120s");
    await kubectl("delete", "snapshotmetadataservice", "--all");
    await kubectl("delete", "namespace", NAMESPACE, "--wait=false");
  }

  get secret(): string {
    return this.#token;
  }

  async #as(account: string, ...audiences: string[]): Promise<Messages> {
    return this.allocated("first", { securityToken: await this.token(account, ...audiences) });
  }

  async #setStatus(name: string, status: object): Promise<void> {
    await this.cluster.kubectl(
      ...["patch", "volumesnapshot", name, "-n", NAMESPACE, "--subresource=status", "--type=merge", "-p"],
      JSON.stringify({ status }),
    );
  }

  async #bound(name: string): Promise<string> {
    const where = ["pvc", name, "-n", NAMESPACE];
    await this.cluster.kubectl("wait", ...where, "--for=jsonpath={.status.phase}=Bound", "--timeout=120s");
    return this.cluster.kubectl("get", ...where, "-o", "jsonpath={.spec.volumeName}");
  }

  async #ready(name: string): Promise<void> {
    const where = ["volumesnapshot", name, "-n", NAMESPACE];
    await this.cluster.kubectl(
      "wait",
      ...where,
      "--for=jsonpath={.status.readyToUse}=true",
      "--timeout=120s",
    );
  }

  async #handle(name: string): Promise<string> {
    const path = "jsonpath={.status.boundVolumeSnapshotContentName}";
    const bound = await this.cluster.kubectl("get", "volumesnapshot", name, "-n", NAMESPACE, "-o", path);
    return this.#shown("volumesnapshotcontent", bound, "{.status.snapshotHandle}");
  }

  #shown(kind: string, name: string, path: string): Promise<string> {
    return this.cluster.kubectl("get", kind, name, "-o", `jsonpath=${path}`);
  }
}

async function write(path: string, ...pagesOf: number[]): Promise<void> {
  const image = await open(path, "r+");
  for (const page of pagesOf) await image.write(Buffer.alloc(PAGE, page), 0, PAGE, page * PAGE);
  await image.sync();
  await image.close();
}

/** Ranges as [offset, size]. `most`: in one message. */
async function read(messages: Messages, most = Number.POSITIVE_INFINITY): Promise<number[][]> {
  const ranges: number[][] = [];
  for await (const { volumeCapacityBytes, blockMetadata } of messages) {
    assert.equal(volumeCapacityBytes, BigInt(SIZE));
    assert.ok(blockMetadata.length <= most);
    for (const { byteOffset, sizeBytes } of blockMetadata)
      ranges.push([Number(byteOffset), Number(sizeBytes)]);
  }
  return ranges;
}

async function refusal(messages: Messages, what: string): Promise<CsiError> {
  const error = await read(messages).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof CsiError, `${what} was let through`);
  return error;
}

const accounts = ({ driver, address, ca }: Cluster) => `
{apiVersion: v1, kind: Namespace, metadata: {name: ${NAMESPACE}}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: reader, namespace: ${NAMESPACE}}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: outsider, namespace: ${NAMESPACE}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: ${NAMESPACE}}
rules: [{apiGroups: [snapshot.storage.k8s.io], resources: [volumesnapshots], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: ${NAMESPACE}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: ${NAMESPACE}}]
---
apiVersion: cbt.storage.k8s.io/v1beta1
kind: SnapshotMetadataService
metadata: {name: ${driver}}
spec: {audience: ${AUDIENCE}, address: "${address}", caCert: ${Buffer.from(ca).toString("base64")}}
`;

const claim = (name: string, storageClassName = "block") => `
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}, namespace: ${NAMESPACE}}
spec:
  accessModes: [ReadWriteOnce]
  volumeMode: Block
  storageClassName: ${storageClassName}
  resources: {requests: {storage: ${SIZE}}}
`;

const ofSnapshot = (name: string, source: string) => `
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: ${name}, namespace: ${NAMESPACE}}
spec: {volumeSnapshotClassName: snaps, source: ${source}}
`;
const snapshot = (name: string, of: string) => ofSnapshot(name, `{persistentVolumeClaimName: ${of}}`);
const snapshotOf = (name: string, contentName: string) =>
  ofSnapshot(name, `{volumeSnapshotContentName: ${contentName}}`);

const content = (name: string, driver: string, snapshotName: string) => `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotContent
metadata: {name: ${name}}
spec:
  driver: ${driver}
  deletionPolicy: Retain
  source: {snapshotHandle: there}
  volumeSnapshotRef: {name: ${snapshotName}, namespace: ${NAMESPACE}}
`;
