/** A file, or a folder for `directory` pools, or an image of a cluster, with a volume's or a snapshot's bytes. */
export interface Image {
  id: string;
  /** Of the file or folder. An image of a cluster has a file there while it has a device on this node. */
  path: string;
  /** Size of the volume in bytes. */
  size: number;
  /** All its blocks are set aside, and no other image has one of them. */
  thick?: true;
}
