import { type CallContext, type CsiClient, CsiError, type snapshotmetadata, type v1 } from "@mooring/csi";
import { getIfAny, type Logger, type ObjectStore, StatusError } from "@mooring/store";
import { requireAccess, type Wanted } from "./access.ts";
import { type DriverSnapshot, findSnapshot } from "./find-snapshot.ts";
import { SnapshotMetadataServices } from "./kinds.ts";

/** What the service is made of. */
export interface SnapshotMetadataOptions {
  store: ObjectStore;
  driver: CsiClient;
  /** What tokens have to be for; default: what the SnapshotMetadataService of the driver's name says. */
  audience?: string;
  /** The longest time that one stream may take, in milliseconds. */
  maxStreamMs: number;
  /** For what a caller gets no details of. */
  logger: Logger;
}

type FromDriver = v1.GetMetadataAllocatedResponse | v1.GetMetadataDeltaResponse;

/** One message of either stream. */
interface Ranges {
  blockMetadataType: snapshotmetadata.BlockMetadataType;
  volumeCapacityBytes: bigint;
  blockMetadata: { byteOffset: bigint; sizeBytes: bigint }[];
}

/** The two services number the types alike. */
function ranges({ blockMetadataType, volumeCapacityBytes, blockMetadata }: FromDriver): Ranges {
  return {
    blockMetadataType: blockMetadataType as number,
    volumeCapacityBytes,
    blockMetadata: blockMetadata.map(({ byteOffset, sizeBytes }) => ({ byteOffset, sizeBytes })),
  };
}

/** For a driver to say its name, in milliseconds. */
const NAME_MS = 10_000;

/**
 * Handlers of `snapshotmetadata.SnapshotMetadata`: block maps of VolumeSnapshots for who may read these, by the driver's own
 * csi.v1.SnapshotMetadata.
 */
export class SnapshotMetadataHandlers {
  readonly #options: SnapshotMetadataOptions;

  constructor(options: SnapshotMetadataOptions) {
    this.#options = options;
  }

  /** The ranges of a snapshot that may contain anything but zeros. */
  async *getMetadataAllocated(
    request: snapshotmetadata.GetMetadataAllocatedRequest,
    { signal }: CallContext,
  ) {
    const { securityToken: token, namespace, snapshotName: name, startingOffset, maxResults } = request;
    require({ security_token: token, namespace, snapshot_name: name });
    const { driver } = this.#options;
    const { handle: snapshotId, secrets } = await this.#admit({ token, namespace, name }, signal);
    const asked = { snapshotId, secrets, startingOffset, maxResults };
    yield* this.#limited(signal, (limit) =>
      driver.snapshotMetadata.getMetadataAllocated(asked, { signal: limit }),
    );
  }

  /** The ranges in which a snapshot may differ from an earlier one of the same volume, whose object may be gone. */
  async *getMetadataDelta(
    request: snapshotmetadata.GetMetadataDeltaRequest,
    { signal }: CallContext,
  ): AsyncIterable<Ranges> {
    const { securityToken: token, namespace, targetSnapshotName: name, baseSnapshotId } = request;
    require({
      security_token: token,
      namespace,
      base_snapshot_id: baseSnapshotId,
      target_snapshot_name: name,
    });
    const { driver } = this.#options;
    const { handle: targetSnapshotId, secrets } = await this.#admit({ token, namespace, name }, signal);
    const { startingOffset, maxResults } = request;
    const asked = { baseSnapshotId, targetSnapshotId, secrets, startingOffset, maxResults };
    yield* this.#limited(signal, (limit) =>
      driver.snapshotMetadata.getMetadataDelta(asked, { signal: limit }),
    );
  }

  /** Nothing of a snapshot is read for whom it is not. */
  async #admit(wanted: Wanted, signal: AbortSignal): Promise<DriverSnapshot> {
    const { store, logger } = this.#options;
    const driver = await this.#driverName(signal);
    try {
      await requireAccess(store, await this.#audience(driver, signal), wanted, signal);
      const { namespace, name } = wanted;
      return await findSnapshot(store, { namespace, name, driver }, signal);
    } catch (error) {
      const { cause = error } = error as Error;
      if (cause instanceof StatusError)
        logger.error({ err: cause }, "the API server refuses what the service asks");
      if (!(error instanceof StatusError)) throw error;
      throw CsiError.unavailable("the API server did not let the service read what it needs", {
        hint: "The service's log has the reason.",
        cause: error,
      });
    }
  }

  /** Asked each time: another driver may have come up at the socket. */
  async #driverName(signal: AbortSignal): Promise<string> {
    try {
      const { name } = await this.#options.driver.identity.getPluginInfo({}, { signal, timeoutMs: NAME_MS });
      return name;
    } catch (cause) {
      if (signal.aborted) throw cause;
      throw CsiError.unavailable("the driver does not respond", { hint: "Try again later.", cause });
    }
  }

  async #audience(name: string, signal: AbortSignal): Promise<string> {
    const { audience, store } = this.#options;
    if (audience !== undefined) return audience;
    const service = await getIfAny(store, SnapshotMetadataServices, { name }, signal);
    if (service?.spec.audience) return service.spec.audience;
    throw CsiError.unavailable(
      `there is no SnapshotMetadataService ${name} that says what tokens have to be for`,
      {
        hint: "Its operator makes it, or gives --snapshot-metadata-audience.",
      },
    );
  }

  /** A caller that takes no more must not keep the driver's work for ever. */
  async *#limited(
    signal: AbortSignal,
    work: (limit: AbortSignal) => AsyncIterable<FromDriver>,
  ): AsyncIterable<Ranges> {
    const limit = new AbortController();
    const stop = () => limit.abort(signal.reason);
    const late = new DOMException("the stream took too long", "TimeoutError");
    const timer = setTimeout(() => limit.abort(late), this.#options.maxStreamMs);
    signal.addEventListener("abort", stop, { once: true });
    try {
      signal.throwIfAborted();
      for await (const message of work(limit.signal)) yield ranges(message);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }
}

function require(fields: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(fields))
    if (value === "") throw CsiError.invalidArgument(`${name} is required`);
}
