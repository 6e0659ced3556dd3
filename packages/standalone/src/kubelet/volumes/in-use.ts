import { mutate, Nodes, type ObjectStore } from "@mooring/store";

/**
 * node.status.volumesInUse: what the attach/detach controller must not detach. Many volumes that come or go at once
 * cost one write.
 */
export interface InUseReport {
  /**
   * Resolves when it is stored that the volume is in use. `patient`: with the next other write, as no caller waits for it.
   */
  add(key: string, options?: { patient: boolean }): Promise<void>;
  remove(key: string): Promise<void>;
  has(key: string): boolean;
  /** Writes it as it is. */
  sync(): Promise<void>;
}

/**
 * Keeps `status.volumesInUse` of the node: writes of one moment go together. It begins with `initial`, the volumes that an
 * earlier life has left mounted, so that none of them is detached before it was unmounted.
 */
export function reportInUse(store: ObjectStore, nodeName: string, initial: Iterable<string>): InUseReport {
  const wanted = new Set(initial);
  let written = new Set<string>();
  let writing: Promise<void> | undefined;
  let again: Promise<void> | undefined;

  async function write(patient: boolean): Promise<void> {
    const now = [...wanted].sort();
    await mutate(
      store,
      Nodes,
      { name: nodeName },
      {
        change: (node) => ({ ...node, status: { ...node.status, volumesInUse: now } }),
        ...{ subresource: "status", patient },
      },
    );
    written = new Set(now);
  }

  /** A write that begins after the call: one that is under way may lack the newest change. */
  function flush({ patient = false } = {}): Promise<void> {
    if (writing === undefined) {
      writing = write(patient).finally(() => {
        writing = undefined;
      });
      return writing;
    }
    again ??= writing
      .catch(() => {})
      .then(() => {
        again = undefined;
        return flush();
      });
    return again;
  }

  return {
    sync: () => flush(),
    has: (key) => written.has(key) && wanted.has(key),
    async add(key, options) {
      wanted.add(key);
      await flush(options);
    },
    async remove(key) {
      wanted.delete(key);
      await flush();
    },
  };
}
