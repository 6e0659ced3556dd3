import { Code, CsiError } from "@mooring/csi";

/** A record is replaced as a whole, so no kill leaves half of one: what cannot be read was damaged on the disk. */
export class DamagedRecord extends CsiError {
  readonly file: string;

  constructor(file: string, cause?: unknown) {
    super(
      Code.FAILED_PRECONDITION,
      `what this node remembers of the volume is damaged: ${file} holds no record`,
      {
        cause,
        hint: "End the pods that use the volume on this node: once it is mounted nowhere, the record begins anew.",
      },
    );
    this.file = file;
  }
}

/** Throws a DamagedRecord. `file`: where it was read. */
export function parseRecord<T extends { published: object }>(file: string, text: string): T {
  let record: Partial<T> | null;
  try {
    record = JSON.parse(text) as Partial<T> | null;
  } catch (error) {
    throw new DamagedRecord(file, error);
  }
  if (typeof record?.published !== "object" || record.published === null) throw new DamagedRecord(file);
  return record as T;
}

/** For `catch`: what stands for a record that is damaged. */
export function unlessDamaged<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof DamagedRecord) return instead;
    throw error;
  };
}
