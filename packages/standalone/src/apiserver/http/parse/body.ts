export type BodyFormat = "json" | "yaml" | "protobuf";

export interface Body {
  value: unknown;
  /** Complaints that only strict decoding makes, as `duplicate field "metadata.name"`. */
  duplicates: string[];
}
