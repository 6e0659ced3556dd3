/** A file, or a folder for `directory` pools, that holds a volume's or a snapshot's bytes. */
export interface Image {
  id: string;
  path: string;
  /** Bytes the volume may hold. */
  size: number;
}
