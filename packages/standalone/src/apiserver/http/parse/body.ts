/** How a body is written. */
export type BodyFormat = "json" | "yaml" | "protobuf";

/** A body that was read. */
export interface Body {
  value: unknown;
  /** Complaints that only strict decoding makes, as `duplicate field "metadata.name"`. */
  duplicates: string[];
}
