/** A file, or a folder for `directory` pools, with a volume's or a snapshot's bytes. */
export interface Image {
  id: string;
  path: string;
  /** Size of the volume in bytes. */
  size: number;
  /** All its blocks are set aside, and no other image has one of them. */
  thick?: true;
}
